//! What other processes tell this gateway, handed to whom it concerns.
//!
//! Runs on the link thread: nothing here waits, and nothing is kept.

use std::sync::Arc;
use std::time::Duration;

use conduit_actor::Seat;
use conduit_link::{
    Answer, Answerer, Delivery, FromHub, FromStore, Link, Mail, Message as Wire, Receiver, Replay,
};
use tracing::debug;
use uuid::Uuid;

use crate::interest::Interest;
use crate::resume::{Holder, Wish};
use crate::streams::{self, Heard};
use crate::{cancellation, sessions};

/// Hands what the store says to the sessions.
pub(crate) fn store_receiver(keeper: Seat<sessions::Message>) -> Receiver {
    Arc::new(move |_link, delivery| {
        let message = match delivery {
            Delivery::Call(incoming, answerer) => {
                let Wire::FromStore(question) = incoming.message else {
                    return;
                };
                let FromStore::ForgetSessions { ids, ended } = question;
                sessions::Message::Forget {
                    ids,
                    ended,
                    answerer,
                }
            }
            Delivery::Down(_reason) => sessions::Message::StoreLost,
            Delivery::Up(_) | Delivery::Event(_) => return,
        };
        if keeper.cast(message).is_err() {
            debug!("sessions are restarting, the store asks again");
        }
    })
}

/// Who hears what hubs say.
pub(crate) struct Ears {
    pub(crate) sweeper: Seat<cancellation::Message>,
    pub(crate) streams: Seat<streams::Message>,
    pub(crate) interest: Interest,
    pub(crate) holder: Holder,
}

impl Ears {
    /// Hands over each thing to whom it concerns. Runs on the link thread.
    pub(crate) fn receiver(self) -> Receiver {
        Arc::new(move |link: Link, delivery| match delivery {
            Delivery::Up(_) => self.interest.up(link.slot().index),
            Delivery::Down(reason) => self.interest.down(link.slot().index, reason),
            Delivery::Event(_) => {}
            Delivery::Call(incoming, answerer) => {
                if let Wire::FromHub(question) = incoming.message {
                    self.take(question, answerer);
                }
            }
        })
    }

    fn take(&self, question: FromHub, answerer: Answerer) {
        let topic = match question {
            FromHub::Mail { mail, .. } => return self.take_mail(mail, answerer),
            FromHub::Changed { topic } => topic,
        };
        let heard = Heard::Hub(answerer);
        self.tell_streams(streams::Message::Changed { topic, heard });
    }

    fn tell_streams(&self, message: streams::Message) {
        if self.streams.cast(message).is_err() {
            debug!("streams are restarting, whoever told them hears of it");
        }
    }

    /// Hands mail from other gateways to whom it concerns.
    fn take_mail(&self, mail: Mail, answerer: Answerer) {
        let message = match mail {
            Mail::StreamOpened { session, opened } => {
                let Ok(session) = Uuid::try_parse(&session) else {
                    return answerer.answer(Answer::Receipt { taken: false });
                };
                return self.tell_streams(streams::Message::Elsewhere {
                    session,
                    opened,
                    answerer,
                });
            }
            Mail::StreamClosed { session } => {
                let Ok(session) = Uuid::try_parse(&session) else {
                    return answerer.answer(Answer::Receipt { taken: false });
                };
                return self.tell_streams(streams::Message::NotElsewhere { session, answerer });
            }
            Mail::Find { scope, request_id } => cancellation::Message::RemoteFind {
                scope,
                request_id,
                answerer,
            },
            Mail::Cancel {
                scope,
                request_id,
                reason,
            } => cancellation::Message::RemoteCancel {
                scope,
                request_id,
                reason,
                answerer,
            },
            Mail::Resume {
                session,
                stream,
                after,
                offset,
                patience_ms,
            } => {
                let Ok(session) = Uuid::try_parse(&session) else {
                    return answerer.answer(Answer::Replay(Replay::Unknown));
                };
                let wish = Wish {
                    session,
                    stream,
                    after,
                    offset,
                    patience: Duration::from_millis(patience_ms),
                };
                return self.holder.answer(wish, answerer);
            }
        };
        if self.sweeper.cast(message).is_err() {
            debug!("the registry is restarting, a cancel is lost");
        }
    }
}
