//! A store of tasks in memory, that does as it is told.

use std::collections::HashMap;
use std::pin::Pin;
use std::time::{SystemTime, UNIX_EPOCH};

use conduit_link::{
    Answer, Asker, Holding, NewTask, Refusal, TakenTask, TaskAnswer, TaskEntry, TaskQuestion,
    TaskRecord, TaskStatus, TaskWork, ToStore,
};
use parking_lot::Mutex;
use uuid::Uuid;

use crate::mail::millis;
use crate::store::LocalStore;

#[derive(Debug, Default)]
pub(super) struct Fake {
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    tasks: HashMap<Uuid, Task>,
    away: bool,
    full: bool,
    /// Whether new tasks wait for somebody who takes them.
    others_hold: bool,
    takes: usize,
    renewals: usize,
    finishes: usize,
    released: usize,
}

#[derive(Debug)]
struct Task {
    record: TaskRecord,
    work: TaskWork,
    fence: u64,
    is_held: bool,
}

impl LocalStore for Fake {
    fn ask(&self, question: ToStore) -> Pin<Box<dyn Future<Output = Answer> + Send>> {
        let ToStore::Task(question) = question else {
            return Box::pin(async { Answer::Refused(Refusal::Misplaced) });
        };
        let mut inner = self.inner.lock();
        if inner.away {
            return Box::pin(std::future::pending());
        }
        let answer = match inner.answer(question) {
            Ok(answer) => Answer::Task(answer),
            Err(refusal) => Answer::Refused(refusal),
        };
        Box::pin(async { answer })
    }
}

impl Fake {
    pub(super) fn record(&self, id: Uuid) -> Option<TaskRecord> {
        let inner = self.inner.lock();
        inner.tasks.get(&id).map(|task| task.record.clone())
    }

    pub(super) fn status(&self, id: Uuid) -> Option<TaskStatus> {
        self.record(id).map(|record| record.status)
    }

    pub(super) fn go_away(&self) {
        self.inner.lock().away = true;
    }

    pub(super) fn come_back(&self) {
        self.inner.lock().away = false;
    }

    pub(super) fn fill(&self) {
        self.inner.lock().full = true;
    }

    /// Lets nobody do the work of new tasks at once.
    pub(super) fn make_others_hold(&self) {
        self.inner.lock().others_hold = true;
    }

    /// Takes a task from its holder, who has not heard of that.
    pub(super) fn lose(&self, id: Uuid) {
        let mut inner = self.inner.lock();
        let task = inner.tasks.get_mut(&id).expect("a task");
        task.fence += 1;
    }

    pub(super) fn cancel_unheard(&self, id: Uuid) {
        let mut inner = self.inner.lock();
        let task = inner.tasks.get_mut(&id).expect("a task");
        task.set(TaskStatus::Cancelled);
    }

    pub(super) fn takes(&self) -> usize {
        self.inner.lock().takes
    }

    pub(super) fn renewals(&self) -> usize {
        self.inner.lock().renewals
    }

    pub(super) fn finishes(&self) -> usize {
        self.inner.lock().finishes
    }

    pub(super) fn released(&self) -> usize {
        self.inner.lock().released
    }
}

impl Inner {
    fn answer(&mut self, question: TaskQuestion) -> Result<TaskAnswer, Refusal> {
        match question {
            TaskQuestion::Create(new) => self.create(new),
            TaskQuestion::Get { id, asker } => {
                let seen = self.seen(id, &asker).map(|task| task.record.clone());
                Ok(TaskAnswer::Task(seen))
            }
            TaskQuestion::Versions { ids } => {
                let known = ids.iter().filter_map(|id| self.tasks.get(id));
                let versions = known.map(|task| (task.record.id, task.record.version));
                Ok(TaskAnswer::Versions(versions.collect()))
            }
            TaskQuestion::List { after: Some(_), .. } => Err(Refusal::Misplaced),
            TaskQuestion::List { asker, .. } => {
                let tasks = self.tasks.values();
                let tasks = tasks.filter(|task| asker.may_see(&task.record));
                Ok(TaskAnswer::Tasks {
                    tasks: tasks.map(|task| task.record.clone()).collect(),
                    next: None,
                })
            }
            TaskQuestion::Answer { id, asker, answers } => {
                let task = self.seen(id, &asker);
                Ok(TaskAnswer::Task(task.map(|task| task.answer(answers))))
            }
            TaskQuestion::Cancel { id, asker } => {
                let asker = asker.expect("a client");
                let Some(task) = self.seen(id, &asker) else {
                    return Ok(TaskAnswer::Cancelled {
                        record: None,
                        had_ended: false,
                    });
                };
                let had_ended = task.record.status.is_terminal();
                if !had_ended {
                    task.set(TaskStatus::Cancelled);
                }
                Ok(TaskAnswer::Cancelled {
                    record: Some(task.record.clone()),
                    had_ended,
                })
            }
            TaskQuestion::Take { limit } => {
                self.takes += 1;
                Ok(TaskAnswer::Taken(self.take(limit)))
            }
            TaskQuestion::Renew { held } => {
                self.renewals += 1;
                let lost = held.iter().filter(|holding| self.held(**holding).is_err());
                let lost = lost.map(|holding| holding.id).collect::<Vec<_>>();
                Ok(TaskAnswer::Lost(lost))
            }
            TaskQuestion::Note { holding, message } => {
                let task = self.held(holding)?;
                task.record.message = Some(message);
                task.record.version += 1;
                Ok(TaskAnswer::Task(Some(task.record.clone())))
            }
            TaskQuestion::Suspend {
                holding,
                journal,
                questions,
            } => {
                let task = self.held(holding)?;
                task.work.journal = journal;
                task.work.answers.clear();
                task.is_held = false;
                task.set(TaskStatus::InputRequired);
                task.record.questions = questions;
                Ok(TaskAnswer::Task(Some(task.record.clone())))
            }
            TaskQuestion::Finish {
                holding,
                status,
                outcome,
                message,
            } => {
                self.finishes += 1;
                let task = self.held(holding)?;
                task.is_held = false;
                task.record.outcome = Some(outcome);
                task.record.message = message.or_else(|| task.record.message.take());
                task.set(status);
                Ok(TaskAnswer::Task(Some(task.record.clone())))
            }
            TaskQuestion::Release { held } => {
                self.released += held.len();
                Ok(TaskAnswer::Done)
            }
            TaskQuestion::Spend { .. } => Ok(TaskAnswer::Done),
        }
    }

    fn create(&mut self, new: NewTask) -> Result<TaskAnswer, Refusal> {
        if self.full {
            return Err(Refusal::Full);
        }
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let now = millis(now.expect("after 1970"));
        let record = TaskRecord {
            id: new.id,
            server: new.server,
            era: new.era,
            owner: new.owner,
            tool: new.tool,
            version: 1,
            status: TaskStatus::Working,
            created_ms: now,
            updated_ms: now,
            ttl_ms: new.ttl_ms,
            poll_ms: new.poll_ms,
            message: new.message,
            questions: Vec::new(),
            outcome: None,
        };
        let task = Task {
            record: record.clone(),
            work: TaskWork {
                input: new.input,
                journal: new.journal,
                answers: Vec::new(),
                attempt: 1,
            },
            fence: 1,
            is_held: !self.others_hold,
        };
        let fence = task.is_held.then_some(task.fence);
        self.tasks.insert(record.id, task);
        Ok(TaskAnswer::Created { record, fence })
    }

    fn take(&mut self, limit: u16) -> Vec<TakenTask> {
        let ready = self.tasks.values_mut();
        let ready = ready.filter(|task| task.record.status == TaskStatus::Working && !task.is_held);
        ready
            .take(usize::from(limit))
            .map(|task| {
                task.is_held = true;
                task.fence += 1;
                TakenTask {
                    record: task.record.clone(),
                    work: task.work.clone(),
                    fence: task.fence,
                }
            })
            .collect()
    }

    fn seen(&mut self, id: Uuid, asker: &Asker) -> Option<&mut Task> {
        let task = self.tasks.get_mut(&id)?;
        asker.may_see(&task.record).then_some(task)
    }

    fn held(&mut self, holding: Holding) -> Result<&mut Task, Refusal> {
        let task = self.tasks.get_mut(&holding.id).ok_or(Refusal::Fenced)?;
        let holds = task.is_held && task.fence == holding.fence;
        let is_open = !task.record.status.is_terminal();
        (holds && is_open).then_some(task).ok_or(Refusal::Fenced)
    }
}

impl Task {
    fn set(&mut self, status: TaskStatus) {
        self.record.status = status;
        self.record.version += 1;
        self.record.questions.clear();
    }

    fn answer(&mut self, answers: Vec<TaskEntry>) -> TaskRecord {
        let keys: Vec<String> = answers.iter().map(|answer| answer.key.clone()).collect();
        self.record
            .questions
            .retain(|asked| !keys.contains(&asked.key));
        self.work.answers.extend(answers);
        if self.record.questions.is_empty() {
            self.set(TaskStatus::Working);
        }
        self.record.clone()
    }
}
