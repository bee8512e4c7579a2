//! The calls of a link that nobody has answered yet.

use std::collections::HashMap;

use tokio::sync::oneshot;

use crate::outbox::Ticket;
use crate::places::CallPlace;
use crate::{Answer, CallError};

/// Tells the caller how it ended.
pub(crate) type Reply = oneshot::Sender<Result<Answer, CallError>>;

#[derive(Debug, Default)]
pub(crate) struct Calls {
    open: HashMap<u64, Open>,
}

#[derive(Debug)]
struct Open {
    reply: Reply,
    /// Where the call waits in the outbox; nothing once it is written.
    waits: Option<Ticket>,
    _place: CallPlace,
}

impl Calls {
    pub(crate) fn open(&mut self, id: u64, waits: Ticket, reply: Reply, place: CallPlace) {
        let waits = Some(waits);
        self.open.insert(
            id,
            Open {
                reply,
                waits,
                _place: place,
            },
        );
    }

    /// The call goes to the peer now: from here on its outcome may be unknown.
    pub(crate) fn written(&mut self, id: u64) {
        if let Some(open) = self.open.get_mut(&id) {
            open.waits = None;
        }
    }

    /// Ends a call with its answer, unless its caller has left.
    pub(crate) fn answered(&mut self, id: u64, answer: Answer) {
        if let Some(open) = self.open.remove(&id) {
            drop(open.reply.send(Ok(answer)));
        }
    }

    /// Forgets a call whose caller has left; returns where it still waits.
    pub(crate) fn left(&mut self, id: u64) -> Option<Ticket> {
        self.open.remove(&id)?.waits
    }

    /// Fails the calls that the peer may have seen: the connection broke.
    pub(crate) fn broken(&mut self) {
        let written = self.open.extract_if(|_, open| open.waits.is_none());
        for (_, open) in written {
            drop(open.reply.send(Err(CallError::Broken)));
        }
    }

    /// Fails all calls: the link will not come back.
    pub(crate) fn gone(&mut self) {
        self.broken();
        for (_, open) in self.open.drain() {
            drop(open.reply.send(Err(CallError::Down)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outbox::{Outbox, Queue};
    use crate::places::Places;

    async fn open(calls: &mut Calls, id: u64) -> oneshot::Receiver<Result<Answer, CallError>> {
        let (reply, answer) = oneshot::channel();
        let place = Places::new(1).open().await.unwrap();
        calls.open(id, Outbox::new().push(Queue::Data, ()), reply, place);
        answer
    }

    #[tokio::test]
    async fn a_broken_connection_fails_only_what_was_written() {
        let mut calls = Calls::default();
        let mut written = open(&mut calls, 1).await;
        let mut waiting = open(&mut calls, 2).await;
        calls.written(1);

        calls.broken();

        assert_eq!(written.try_recv(), Ok(Err(CallError::Broken)));
        assert!(
            waiting.try_recv().is_err(),
            "it waits for the next connection"
        );
    }

    #[tokio::test]
    async fn a_link_that_is_gone_answers_everybody() {
        let mut calls = Calls::default();
        let mut written = open(&mut calls, 1).await;
        let mut waiting = open(&mut calls, 2).await;
        calls.written(1);

        calls.gone();

        assert_eq!(written.try_recv(), Ok(Err(CallError::Broken)));
        assert_eq!(waiting.try_recv(), Ok(Err(CallError::Down)));
    }

    #[tokio::test]
    async fn an_answer_ends_its_call_once() {
        let mut calls = Calls::default();
        let mut answer = open(&mut calls, 1).await;

        calls.answered(1, Answer::Done);
        calls.answered(1, Answer::Probed);

        assert_eq!(answer.try_recv(), Ok(Ok(Answer::Done)));
        assert_eq!(calls.left(1), None);
    }
}
