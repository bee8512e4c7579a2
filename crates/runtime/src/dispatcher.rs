//! Takes every message of this gateway, in order, and sends it on its way.
//!
//! It parses, classifies and routes; what needs no callback it answers itself.
//! It never waits: whatever takes time becomes a task of the pipeline. So its
//! mailbox is as long as the loop is late, and never longer than the admission
//! limit.
//!
//! When it fails, the messages in its mailbox are lost; their callers hear 503.

use std::sync::Arc;

use conduit_actor::{Actor, Failure};

use crate::exchange::Dispatch;
use crate::gateway::Shared;
use crate::route;

/// What the dispatcher hears.
#[derive(Debug)]
pub(crate) enum Message {
    /// A transport has read a message.
    Dispatch(Dispatch),
    /// The client says nothing more, so it answers no question. Comes behind all that it
    /// has said.
    EndQuestions,
    /// Handle nothing until the sender of this is dropped.
    #[cfg(test)]
    Stall(tokio::sync::oneshot::Receiver<()>),
}

#[derive(Debug)]
pub(crate) struct Dispatcher {
    shared: Arc<Shared>,
}

impl Dispatcher {
    pub(crate) const fn new(shared: Arc<Shared>) -> Self {
        Self { shared }
    }
}

impl Actor for Dispatcher {
    type Message = Message;

    async fn handle(&mut self, message: Message) -> Result<(), Failure> {
        match message {
            Message::Dispatch(dispatch) => {
                if dispatch.reply.is_closed() {
                    return Ok(());
                }
                dispatch.call.pick();
                route::take(&self.shared, dispatch, route::Session::Unresolved);
            }
            Message::EndQuestions => self.shared.bridge.close(),
            #[cfg(test)]
            Message::Stall(until) => drop(until.await),
        }
        Ok(())
    }
}
