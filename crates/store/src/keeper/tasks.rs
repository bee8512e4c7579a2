//! What a gateway may ask about tasks.

use std::collections::HashSet;
use std::sync::atomic::Ordering;

use conduit_link::{
    Answer, Asker, Holding, NewTask, Refusal, TaskAnswer, TaskEntry, TaskOwner, TaskQuestion,
    TaskRecord, TaskStatus,
};
use uuid::Uuid;

use super::Keeper;
use crate::backend::{Answering, Holdings, Listed, Place, Spending, Which};
use crate::clock::Moment;
use crate::gateways::Gateway;
use crate::task::{Holder, Loss, QUESTIONS, SLICE, fits, named_by_now};
use crate::writer::Refused;

/// The most tasks on a page, so that it fits into a frame.
const PAGE: usize = 200;

/// The most tasks whose versions are looked up before others have their turn.
const AT_A_TIME: usize = 200;

impl Keeper {
    /// Looks a task up; takes microseconds and waits for nobody.
    pub(super) fn look_task(&self, id: Uuid, asker: &Asker) -> Answer {
        let now = self.clock.moment();
        match self.read(|reader| reader.task(id, now)) {
            Ok(found) => {
                let seen = found.filter(|task| asker.may_see(task));
                Answer::Task(TaskAnswer::Task(seen))
            }
            Err(refusal) => Answer::Refused(refusal),
        }
    }

    pub(super) async fn answer_task(
        &self,
        question: TaskQuestion,
        gateway: &Gateway,
    ) -> Result<Answer, Refused> {
        match question {
            TaskQuestion::Create(task) => self.create(task, gateway.holder()).await,
            TaskQuestion::Get { id, asker } => Ok(self.look_task(id, &asker)),
            TaskQuestion::Versions { ids } => Ok(self.versions(&ids).await),
            TaskQuestion::List {
                asker,
                after,
                limit,
            } => Ok(self.list(&asker, after.as_deref(), limit)),
            TaskQuestion::Answer { id, asker, answers } => self.answer_to(id, asker, answers).await,
            TaskQuestion::Cancel { id, asker } => self.cancel(id, asker).await,
            TaskQuestion::Take { limit } => self.take(limit, gateway.holder()).await,
            TaskQuestion::Renew { held } => self.renew(held, gateway.holder()).await,
            TaskQuestion::Note { holding, message } => self.note(holding, message).await,
            TaskQuestion::Suspend {
                holding,
                journal,
                questions,
            } => self.suspend(holding, journal.into_vec(), questions).await,
            TaskQuestion::Finish {
                holding,
                status,
                outcome,
                message,
            } => {
                let outcome = outcome.into_vec();
                self.finish(holding, status, outcome, message).await
            }
            TaskQuestion::Release { held } => self.release(held, gateway.holder()).await,
            TaskQuestion::Spend { nonce, until_ms } => self.spend(nonce, until_ms).await,
        }
    }

    pub(super) async fn cancel(&self, id: Uuid, asker: Option<Asker>) -> Result<Answer, Refused> {
        let now = self.clock.moment();
        // A gateway tells of its own changes; nobody else tells of the operator's.
        let is_operator = asker.is_none();
        let cancelled = self
            .writer
            .run(move |tables| tables.cancel(id, asker.as_ref(), now))
            .await?;
        let answer = match cancelled {
            Some(cancelled) => {
                if let Some(holder) = cancelled.holder {
                    self.gateways.tell_stopped(&[(holder, id)]);
                }
                if is_operator && !cancelled.had_ended {
                    self.gateways.tell_changed(&[id]);
                }
                self.call_for_takers();
                TaskAnswer::Cancelled {
                    record: Some(cancelled.record),
                    had_ended: cancelled.had_ended,
                }
            }
            None => TaskAnswer::Cancelled {
                record: None,
                had_ended: false,
            },
        };
        Ok(Answer::Task(answer))
    }

    /// Takes tasks from the life that holds them, slice by slice.
    pub(super) async fn lose(&self, life: Uuid, which: Lost, loss: Loss) -> Result<(), Refused> {
        let now = self.clock.moment();
        loop {
            let which = which.clone();
            let losses = self
                .writer
                .run(move |tables| tables.lose(life, which.as_which(), loss, now))
                .await?;
            let count = losses.len();
            self.telemetry
                .store_takeovers(losses.ready.len(), losses.failed.len());
            self.gateways
                .tell_changed(&[losses.ready, losses.failed].concat());
            self.call_for_takers();
            if count < SLICE {
                return Ok(());
            }
        }
    }

    /// Lets gateways know, in a moment, that there is work, if there is any.
    pub(super) fn call_for_takers(&self) {
        if self.writer.ready() > 0 {
            self.ready.notify_one();
        }
    }
}

/// Which of its tasks a life loses.
#[derive(Clone, Debug)]
pub(super) enum Lost {
    All,
    Only(HashSet<Holding>),
    AllBut(HashSet<Holding>, Moment),
}

impl Lost {
    const fn as_which(&self) -> Which<'_> {
        match self {
            Self::All => Which::All,
            Self::Only(these) => Which::Only(these),
            Self::AllBut(these, before) => Which::AllBut(these, *before),
        }
    }
}

// === Behind the questions ===

impl Keeper {
    async fn create(&self, task: NewTask, holder: Holder) -> Result<Answer, Refused> {
        if !fits(&task) {
            return Ok(Answer::Refused(Refusal::Full));
        }
        let (limits, now) = (self.options.limits, self.clock.moment());
        let created = self
            .writer
            .run(move |tables| tables.create(&task, holder, &limits, now))
            .await?;
        self.expired(&created.expired);
        let Some((record, fence)) = created.kept else {
            return Ok(Answer::Refused(Refusal::Full));
        };
        self.plan_for(&record);
        if fence.is_none() {
            self.call_for_takers();
        }
        Ok(Answer::Task(TaskAnswer::Created { record, fence }))
    }

    async fn versions(&self, ids: &[Uuid]) -> Answer {
        let now = self.clock.moment();
        let mut found = Vec::with_capacity(ids.len());
        for ids in ids.chunks(AT_A_TIME) {
            match self.read(|reader| reader.versions(ids, now)) {
                Ok(versions) => found.extend(versions),
                Err(refusal) => return Answer::Refused(refusal),
            }
            tokio::task::yield_now().await;
        }
        Answer::Task(TaskAnswer::Versions(found))
    }

    fn list(&self, asker: &Asker, after: Option<&str>, limit: u32) -> Answer {
        let after = match after.map(Place::parse) {
            Some(None) => return Answer::Refused(Refusal::Misplaced),
            Some(place) => place,
            None => None,
        };
        let limit = usize::try_from(limit).unwrap_or(PAGE).clamp(1, PAGE);
        match self.page(asker, after, limit) {
            Ok(mut tasks) => {
                let more = tasks.len() > limit;
                tasks.truncate(limit);
                let last = tasks.last().filter(|_| more);
                let next = last.map(|task| Place::of(task).to_string());
                Answer::Task(TaskAnswer::Tasks { tasks, next })
            }
            Err(refusal) => Answer::Refused(refusal),
        }
    }

    /// Returns one task more than `limit`, if there is one.
    fn page(
        &self,
        asker: &Asker,
        after: Option<Place>,
        limit: usize,
    ) -> Result<Vec<TaskRecord>, Refusal> {
        let now = self.clock.moment();
        let principal = asker.principal.clone().map(TaskOwner::Principal);
        let session = asker.session.map(TaskOwner::Session);
        let mut tasks = Vec::new();
        for owner in [principal, session].iter().flatten() {
            let of = Listed {
                owner,
                server: &asker.server,
                era: asker.era,
            };
            tasks.extend(self.read(|reader| reader.tasks(of, after, limit + 1, now))?);
        }
        tasks.sort_by_key(|task| std::cmp::Reverse(Place::of(task)));
        Ok(tasks)
    }

    async fn answer_to(
        &self,
        id: Uuid,
        asker: Asker,
        answers: Vec<TaskEntry>,
    ) -> Result<Answer, Refused> {
        let now = self.clock.moment();
        let answered = self
            .writer
            .run(move |tables| tables.answer(id, &asker, &answers, now))
            .await?;
        Ok(match answered {
            Answering::Kept { record, resumed } => {
                if resumed {
                    self.call_for_takers();
                }
                Answer::Task(TaskAnswer::Task(Some(*record)))
            }
            Answering::Full => Answer::Refused(Refusal::Full),
            Answering::Unknown => Answer::Task(TaskAnswer::Task(None)),
        })
    }

    async fn take(&self, limit: u16, holder: Holder) -> Result<Answer, Refused> {
        let (limits, now) = (self.options.limits, self.clock.moment());
        if limit == 0 || self.writer.ready() == 0 {
            return Ok(Answer::Task(TaskAnswer::Taken(Vec::new())));
        }
        let taken = self
            .writer
            .run(move |tables| tables.take(holder, limit, &limits, now))
            .await?;
        Ok(Answer::Task(TaskAnswer::Taken(taken)))
    }

    async fn renew(&self, held: Vec<Holding>, holder: Holder) -> Result<Answer, Refused> {
        let held: HashSet<Holding> = held.into_iter().collect();
        let before = named_by_now(self.options.lease, self.clock.moment());
        let has = match self.read(|reader| reader.held(holder.life)) {
            Ok(has) => has,
            Err(refusal) => return Ok(Answer::Refused(refusal)),
        };
        let forgotten =
            |(holding, leased): &(Holding, Moment)| *leased < before && !held.contains(holding);
        let forgets = has.iter().any(forgotten);
        let has: HashSet<Holding> = has.into_iter().map(|(holding, _)| holding).collect();
        let lost = held.difference(&has).map(|holding| holding.id).collect();
        if forgets {
            let all_but = Lost::AllBut(held, before);
            self.lose(holder.life, all_but, Loss::Died).await?;
        }
        Ok(Answer::Task(TaskAnswer::Lost(lost)))
    }

    async fn note(&self, holding: Holding, message: String) -> Result<Answer, Refused> {
        let now = self.clock.moment();
        let noted = self
            .writer
            .run(move |tables| tables.note(holding, &message, now))
            .await?;
        Ok(done(noted))
    }

    async fn suspend(
        &self,
        holding: Holding,
        journal: Vec<u8>,
        questions: Vec<TaskEntry>,
    ) -> Result<Answer, Refused> {
        if questions.is_empty() {
            return Ok(Answer::Refused(Refusal::Misplaced));
        }
        if questions.len() > QUESTIONS {
            return Ok(Answer::Refused(Refusal::Full));
        }
        let now = self.clock.moment();
        let suspended = self
            .writer
            .run(move |tables| tables.suspend(holding, &journal, &questions, now))
            .await?;
        self.call_for_takers();
        Ok(done(suspended))
    }

    async fn finish(
        &self,
        holding: Holding,
        status: TaskStatus,
        outcome: Vec<u8>,
        message: Option<String>,
    ) -> Result<Answer, Refused> {
        if !matches!(status, TaskStatus::Completed | TaskStatus::Failed) {
            return Ok(Answer::Refused(Refusal::Misplaced));
        }
        if !self.options.limits.may_end_with(&outcome) {
            return Ok(Answer::Refused(Refusal::Full));
        }
        let now = self.clock.moment();
        let finished = self
            .writer
            .run(move |tables| tables.finish(holding, status, &outcome, message.as_deref(), now))
            .await?;
        self.call_for_takers();
        Ok(done(finished))
    }

    async fn release(&self, held: Vec<Holding>, holder: Holder) -> Result<Answer, Refused> {
        let only = Lost::Only(held.into_iter().collect());
        self.lose(holder.life, only, Loss::Released).await?;
        Ok(Answer::Task(TaskAnswer::Done))
    }

    async fn spend(&self, nonce: Uuid, until_ms: u64) -> Result<Answer, Refused> {
        let (limits, now) = (self.options.limits, self.clock.moment());
        let until = Moment::new(0).plus(until_ms);
        let spent = self
            .writer
            .run(move |tables| tables.spend(nonce, until, &limits, now))
            .await?;
        Ok(match spent {
            Spending::Now => Answer::Task(TaskAnswer::Done),
            Spending::Before => Answer::Refused(Refusal::Spent),
            Spending::Full => Answer::Refused(Refusal::Full),
        })
    }

    /// Wakes for the end of a new task, if nobody would wake before.
    fn plan_for(&self, task: &TaskRecord) {
        let Some(ttl) = task.ttl_ms else {
            return;
        };
        let expires = Moment::new(0).plus(task.created_ms).plus(ttl);
        if expires.since_1970() < self.planned.load(Ordering::Relaxed) {
            self.sooner.notify_one();
        }
    }
}

fn done(holdings: Holdings) -> Answer {
    match holdings {
        Holdings::Done(record) => Answer::Task(TaskAnswer::Task(Some(*record))),
        Holdings::Fenced => Answer::Refused(Refusal::Fenced),
        Holdings::Full => Answer::Refused(Refusal::Full),
    }
}
