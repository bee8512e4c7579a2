//! Under which names calls and their answers are counted.

use conduit_link::{Answer, Refusal, TaskAnswer, TaskQuestion, ToStore};
use conduit_telemetry::{StoreOperation, StoreOutcome};

/// Returns the name under which a call is counted.
pub(crate) const fn operation(question: &ToStore) -> StoreOperation {
    match question {
        ToStore::OpenSession(_) => StoreOperation::OpenSession,
        ToStore::LookSession { .. } => StoreOperation::LookSession,
        ToStore::SetSessionLevel { .. } => StoreOperation::SetSessionLevel,
        ToStore::SubscribeSession { .. } => StoreOperation::SubscribeSession,
        ToStore::TouchSessions { .. } => StoreOperation::TouchSessions,
        ToStore::EndSession { .. } => StoreOperation::EndSession,
        ToStore::Task(question) => about_tasks(question),
    }
}

const fn about_tasks(question: &TaskQuestion) -> StoreOperation {
    match question {
        TaskQuestion::Create(_) => StoreOperation::CreateTask,
        TaskQuestion::Get { .. } => StoreOperation::LookTask,
        TaskQuestion::Versions { .. } => StoreOperation::TaskVersions,
        TaskQuestion::List { .. } => StoreOperation::ListTasks,
        TaskQuestion::Answer { .. } => StoreOperation::AnswerTask,
        TaskQuestion::Cancel { .. } => StoreOperation::CancelTask,
        TaskQuestion::Take { .. } => StoreOperation::TakeTasks,
        TaskQuestion::Renew { .. } => StoreOperation::RenewTasks,
        TaskQuestion::Note { .. } => StoreOperation::NoteTask,
        TaskQuestion::Suspend { .. } => StoreOperation::SuspendTask,
        TaskQuestion::Finish { .. } => StoreOperation::FinishTask,
        TaskQuestion::Release { .. } => StoreOperation::ReleaseTasks,
        TaskQuestion::Spend { .. } => StoreOperation::SpendState,
    }
}

pub(super) const fn outcome(answer: &Answer) -> StoreOutcome {
    match answer {
        Answer::Session(None)
        | Answer::Task(TaskAnswer::Task(None) | TaskAnswer::Cancelled { record: None, .. }) => {
            StoreOutcome::Missing
        }
        Answer::Refused(Refusal::Storage) => StoreOutcome::Failed,
        Answer::Refused(_) => StoreOutcome::Refused,
        Answer::Done
        | Answer::Session(Some(_))
        | Answer::Task(_)
        | Answer::Probed
        | Answer::Metrics(_)
        | Answer::Receipt { .. }
        | Answer::Told { .. }
        | Answer::Shard(_)
        | Answer::Hub(_)
        | Answer::Tree(_)
        | Answer::Scaled { .. }
        | Answer::Replay(_)
        | Answer::Receipts { .. } => StoreOutcome::Ok,
    }
}
