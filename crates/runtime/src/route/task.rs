//! Requests about tasks (9.1, 9.2).

mod wait;

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use conduit_link::{Asker, Refusal, TaskAnswer, TaskEntry, TaskQuestion, TaskRecord};
use conduit_protocol::{
    Context, Era, InputRequest, ListParams, Method, Params, Rendered, TaskParams, UpdateTaskParams,
    WireError,
};
use conduit_server::check_answer;
use conduit_telemetry::RefusedReason;
use serde_bytes::ByteBuf;
use serde_json::value::RawValue;
use tracing::debug;
use uuid::Uuid;

use super::later::Later;
use super::request::Exchange;
use crate::exchange::{Dispatch, MessageReply};
use crate::gateway::Shared;
use crate::hosted::Hosted;
use crate::sessions::Session;
use crate::store;
use crate::tasks::{self, Shown, stored_era};

/// The most tasks on one page of a list (R45).
const PAGE: u32 = 500;

impl Exchange<'_> {
    /// Answers a request about tasks.
    pub(super) fn task(
        self,
        dispatch: Dispatch,
        params: &Params<'_>,
        context: Context,
        method: Method,
        session: Option<Arc<Session>>,
    ) {
        let client = context.capabilities.as_ref();
        let declares = client.is_some_and(|client| client.declares_tasks());
        let asking = Asking {
            shared: Arc::clone(self.shared),
            hosted: Arc::clone(self.hosted),
            era: context.era,
            session,
        };
        let head = dispatch.head.clone();
        let later = Later::of(self, dispatch, context);
        // T-TASK-14: whatever earlier requests have said.
        if asking.era == Era::Modern && !declares {
            return later.fail(&WireError::tasks_undeclared());
        }
        let question = match Question::read(method, params) {
            Ok(question) => question,
            Err(refused) => return later.fail(&refused),
        };
        let shared = Arc::clone(self.shared);
        let answering = async move {
            if let Question::Result(task) = question {
                return Box::pin(asking.wait(later, &head, task)).await;
            }
            let answer = asking.answer(&later, question).await;
            asking.reply(later, answer);
        };
        // Each holds its place in the admission.
        shared.tasks.spawn(answering);
    }
}

/// What is asked.
#[derive(Debug)]
enum Question {
    Get(TaskParams),
    Update(UpdateTaskParams),
    Cancel(TaskParams),
    Result(TaskParams),
    List(Option<String>),
}

impl Question {
    fn read(method: Method, params: &Params<'_>) -> Result<Self, WireError> {
        if method == Method::TasksUpdate {
            return UpdateTaskParams::read(params).map(Self::Update);
        }
        if method == Method::TasksList {
            let params = ListParams::read(params)?;
            return Ok(Self::List(params.cursor.map(Cow::into_owned)));
        }
        let task = TaskParams::read(params)?;
        Ok(if method == Method::TasksGet {
            Self::Get(task)
        } else if method == Method::TasksCancel {
            Self::Cancel(task)
        } else {
            Self::Result(task)
        })
    }
}

/// Somebody who asks.
#[derive(Clone, Debug)]
struct Asking {
    shared: Arc<Shared>,
    hosted: Arc<Hosted>,
    era: Era,
    session: Option<Arc<Session>>,
}

/// Why there is no answer.
enum Refused {
    /// The request is one that cannot be answered.
    Request(WireError),
    /// The store does not answer.
    Store,
}

impl From<store::Error> for Refused {
    fn from(error: store::Error) -> Self {
        match error {
            store::Error::TooLarge => {
                Self::Request(WireError::invalid_params("the answers are too large"))
            }
            store::Error::CannotWrite => Self::Request(tasks::cannot_write()),
            store::Error::Unavailable => Self::Store,
        }
    }
}

impl From<WireError> for Refused {
    fn from(error: WireError) -> Self {
        Self::Request(error)
    }
}

// === What is answered at once ===

impl Asking {
    fn asker(&self) -> Asker {
        Asker {
            server: self.hosted.name.to_string(),
            era: stored_era(self.era),
            principal: None,
            session: self.session.as_ref().map(|session| session.id),
        }
    }

    fn patience(&self) -> Duration {
        self.shared.options.store_patience
    }

    async fn answer(&self, later: &Later, question: Question) -> Result<Rendered, Refused> {
        let (era, id, face) = (self.era, &later.id, &self.hosted.face);
        match question {
            Question::Get(task) => {
                let shown = Shown::of(self.find(&task).await?);
                Ok(face.task(era, id, &shown.view()))
            }
            Question::Update(update) => {
                self.update(update).await?;
                Ok(face.empty(era, id))
            }
            Question::Cancel(task) => {
                let record = self.cancel(&task).await?;
                Ok(match era {
                    Era::Modern => face.empty(era, id),
                    Era::Legacy => face.task(era, id, &Shown::of(record).view()),
                })
            }
            Question::List(cursor) => {
                let (shown, next) = self.list(cursor).await?;
                let views: Vec<_> = shown.iter().map(Shown::view).collect();
                Ok(face.task_list(id, &views, next.as_deref()))
            }
            // It waits.
            Question::Result(_) => Err(WireError::internal().into()),
        }
    }

    fn reply(&self, later: Later, answer: Result<Rendered, Refused>) {
        match answer {
            Ok(message) => later.answer(MessageReply::new(200, message)),
            Err(Refused::Request(refused)) => later.fail(&refused),
            Err(Refused::Store) => {
                self.shared.telemetry.refused(RefusedReason::Store);
                later.busy("the store is not available".to_owned());
            }
        }
    }

    /// Finds a task. One that is not the asker's is as one that is not there
    /// (T-TASK-28).
    async fn find(&self, task: &TaskParams) -> Result<TaskRecord, Refused> {
        let unknown = || WireError::unknown_task(&task.text);
        let id = task.task_id.ok_or_else(unknown)?;
        let asker = self.asker();
        let found = tasks::look(&self.shared.store, self.patience(), id, asker).await?;
        Ok(found.ok_or_else(unknown)?)
    }

    /// Takes answers to the questions of a task; those that were not asked are ignored
    /// (T-TASK-17).
    async fn update(&self, update: UpdateTaskParams) -> Result<(), Refused> {
        let UpdateTaskParams { task, responses } = update;
        let shown = Shown::of(self.find(&task).await?);
        let answers = answers(shown.questions(), responses)?;
        if answers.is_empty() {
            return Ok(());
        }
        // It may have gone meanwhile.
        let record = self.hand_in(shown.record.id, answers).await?;
        record.ok_or_else(|| WireError::unknown_task(&task.text))?;
        Ok(())
    }

    async fn hand_in(
        &self,
        id: Uuid,
        answers: Vec<TaskEntry>,
    ) -> Result<Option<TaskRecord>, store::Error> {
        let question = TaskQuestion::Answer {
            id,
            asker: self.asker(),
            answers,
        };
        let asking = self.shared.store.ask_of_tasks(question, self.patience());
        let record = match asking.await? {
            Ok(TaskAnswer::Task(record)) => record,
            Err(Refusal::Full) => return Err(store::Error::TooLarge),
            Ok(_) | Err(_) => return Err(store::Error::Unavailable),
        };
        if let Some(record) = &record {
            tasks::changed(&self.shared, record);
        }
        Ok(record)
    }

    /// Ends a task. That it has ended already is an error in the legacy era alone
    /// (T-TASK-18, L-TASK-09).
    async fn cancel(&self, task: &TaskParams) -> Result<TaskRecord, Refused> {
        let unknown = || WireError::unknown_task(&task.text);
        let question = TaskQuestion::Cancel {
            id: task.task_id.ok_or_else(unknown)?,
            asker: Some(self.asker()),
        };
        let asking = self.shared.store.ask_of_tasks(question, self.patience());
        let Ok(TaskAnswer::Cancelled { record, had_ended }) = asking.await? else {
            return Err(Refused::Store);
        };
        let record = record.ok_or_else(unknown)?;
        if !had_ended {
            tasks::changed(&self.shared, &record);
            return Ok(record);
        }
        match self.era {
            Era::Modern => Ok(record),
            Era::Legacy => {
                let status = Shown::of(record).status();
                let text = format!("Task is already {}", status.as_str());
                Err(WireError::invalid_params(text).into())
            }
        }
    }

    /// Lists the tasks of a session. Whoever has none does not learn which tasks there
    /// are (R38).
    async fn list(&self, cursor: Option<String>) -> Result<(Vec<Shown>, Option<String>), Refused> {
        if self.session.is_none() {
            let unknown = WireError::method_not_found(Method::TasksList.as_str());
            return Err(unknown.into());
        }
        let not_one = || WireError::invalid_params("params.cursor is not one of this list");
        let question = TaskQuestion::List {
            asker: self.asker(),
            after: cursor,
            limit: PAGE,
        };
        let asking = self.shared.store.ask_of_tasks(question, self.patience());
        match asking.await? {
            Ok(TaskAnswer::Tasks { tasks, next }) => {
                Ok((tasks.into_iter().map(Shown::of).collect(), next))
            }
            Err(Refusal::Misplaced) => Err(not_one().into()),
            Ok(_) | Err(_) => Err(Refused::Store),
        }
    }
}

/// Picks the answers that were asked for, and looks whether they fit.
fn answers(
    questions: &[(String, Box<RawValue>)],
    responses: Vec<(String, Box<RawValue>)>,
) -> Result<Vec<TaskEntry>, WireError> {
    let mut answers = Vec::new();
    for (key, response) in responses {
        let question = questions.iter().find(|(asked, _)| *asked == key);
        let Some((_, question)) = question else {
            continue;
        };
        check(question, &response).map_err(|refused| {
            let text = format!("`params.inputResponses`, at \"{key}\": {}", refused.message);
            WireError::invalid_params(text)
        })?;
        let json = ByteBuf::from(response.get());
        answers.push(TaskEntry { key, json });
    }
    Ok(answers)
}

fn check(question: &RawValue, response: &RawValue) -> Result<(), WireError> {
    let Some(request) = InputRequest::from_json(question) else {
        debug!("a question of a task cannot be read");
        return Err(WireError::internal());
    };
    check_answer(&request, response)
}

#[cfg(test)]
mod tests {
    use conduit_protocol::Code;

    use super::*;

    fn raw(json: &str) -> Box<RawValue> {
        RawValue::from_string(json.to_owned()).expect("JSON")
    }

    fn questions() -> Vec<(String, Box<RawValue>)> {
        let schema =
            r#"{"type":"object","properties":{"ok":{"type":"boolean"}},"required":["ok"]}"#;
        let form = InputRequest::form("Go on?", raw(schema));
        vec![("ok".to_owned(), form.write_json())]
    }

    fn check(key: &str, response: &str) -> Result<Vec<TaskEntry>, WireError> {
        answers(&questions(), vec![(key.to_owned(), raw(response))])
    }

    #[test]
    fn an_answer_that_fits_is_handed_in_as_it_was_written() {
        for response in [
            r#"{"action":"accept","content":{"ok":true}}"#,
            r#"{"action":"decline"}"#,
            r#"{"action":"cancel"}"#,
        ] {
            let answers = check("ok", response).expect("answers");

            assert_eq!(answers.len(), 1);
            assert_eq!(answers[0].json, response.as_bytes());
        }
    }

    #[test]
    fn an_answer_that_nobody_asked_for_is_ignored() {
        assert_eq!(check("other", "17").expect("no answer"), []);
    }

    #[test]
    fn a_malformed_answer_is_refused_and_named() {
        for response in [
            "17",
            "{}",
            r#"{"action":"perhaps"}"#,
            r#"{"action":"accept","content":{"ok":"yes"}}"#,
            r#"{"action":"accept","content":{}}"#,
        ] {
            let refused = check("ok", response).expect_err("a refusal");

            assert_eq!(refused.code, Code::INVALID_PARAMS, "{response}");
            assert!(refused.message.contains("\"ok\""), "{refused}");
        }
    }
}
