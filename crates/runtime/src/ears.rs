//! What other processes tell this gateway, handed to whom it concerns.
//!
//! Runs on the link thread: nothing here waits, and nothing is kept.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use conduit_actor::Seat;
use conduit_link::{
    Answer, Answerer, Delivery, FromHub, FromStore, Link, Mail, Message as Wire, Receiver, Replay,
};
use conduit_protocol::Rendered;
use tracing::debug;
use uuid::Uuid;

use crate::bridge::Bridge;
use crate::interest::Interest;
use crate::outbox::{Published, TaskNews};
use crate::resume::{Holder, Wish};
use crate::streams::{self, Heard};
use crate::tasks::{self, Executor};
use crate::{cancellation, publish, sessions};

/// Who hears what the store says; cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct StoreEars {
    pub(crate) keeper: Seat<sessions::Message>,
    pub(crate) foreman: Seat<tasks::Message>,
    pub(crate) streams: Seat<streams::Message>,
    pub(crate) executor: Executor,
}

impl StoreEars {
    /// Hands over each thing to whom it concerns. Runs on the link thread.
    pub(crate) fn receiver(self) -> Receiver {
        Arc::new(move |_link, delivery| match delivery {
            Delivery::Call(incoming, answerer) => {
                if let Wire::FromStore(question) = incoming.message {
                    self.take(question, answerer);
                }
            }
            Delivery::Up(_) => self.is_back(),
            Delivery::Down(_reason) => self.tell_keeper(sessions::Message::StoreLost),
            Delivery::Event(_) => {}
        })
    }

    /// Takes what a store in this process says. It keeps no sessions.
    pub(crate) fn hear(&self, question: FromStore) {
        match question {
            FromStore::StopTasks { ids } => self.executor.end(&ids),
            FromStore::TasksReady => self.tell_foreman(tasks::Message::Ready),
            FromStore::TasksChanged { ids } => self.tasks_moved(ids),
            FromStore::ForgetSessions { .. } => {}
        }
    }

    fn take(&self, question: FromStore, answerer: Answerer) {
        if let FromStore::ForgetSessions { ids, ended } = question {
            return self.tell_keeper(sessions::Message::Forget {
                ids,
                ended,
                answerer,
            });
        }
        self.hear(question);
        answerer.answer(Answer::Done);
    }

    /// While it was away, anything may have happened to tasks.
    fn is_back(&self) {
        self.tell_foreman(tasks::Message::StoreBack);
        self.tasks_moved(Vec::new());
    }

    fn tasks_moved(&self, ids: Vec<Uuid>) {
        if self
            .streams
            .cast(streams::Message::TasksMoved { ids })
            .is_err()
        {
            debug!("streams are restarting, nobody is told of tasks");
        }
    }

    fn tell_foreman(&self, message: tasks::Message) {
        if self.foreman.cast(message).is_err() {
            debug!("the foreman is restarting, it begins anew");
        }
    }

    fn tell_keeper(&self, message: sessions::Message) {
        if self.keeper.cast(message).is_err() {
            debug!("sessions are restarting, the store asks again");
        }
    }
}

/// Who hears what hubs say.
pub(crate) struct Ears {
    pub(crate) sweeper: Seat<cancellation::Message>,
    pub(crate) streams: Seat<streams::Message>,
    pub(crate) interest: Interest,
    pub(crate) bridge: Bridge,
    pub(crate) holder: Holder,
    pub(crate) desk: Seat<publish::Message>,
}

impl Ears {
    /// Hands over each thing to whom it concerns. Runs on the link thread.
    pub(crate) fn receiver(self) -> Receiver {
        Arc::new(move |link: Link, delivery| match delivery {
            Delivery::Up(_) => {
                self.interest.up(link.slot().index);
                self.hurry();
            }
            Delivery::Down(_) => self.interest.down(link.slot().index),
            Delivery::Event(_) => {}
            Delivery::Call(incoming, answerer) => {
                if let Wire::FromHub(question) = incoming.message {
                    self.take(link.slot().index, question, answerer);
                }
            }
        })
    }

    fn take(&self, shard: u16, question: FromHub, answerer: Answerer) {
        match question {
            FromHub::Mail { from, mail } => self.take_mail(from.index, mail, answerer),
            FromHub::Interest {
                added,
                removed,
                complete,
            } => {
                self.interest.hear(shard, &added, &removed, complete);
                answerer.answer(Answer::Done);
            }
            FromHub::Changed { changes } => {
                let changes = changes.into_iter().map(|change| streams::Changed {
                    topic: change.topic,
                    published: Some(Published {
                        at_us: change.at_us,
                        shard,
                    }),
                });
                self.tell_streams(streams::Message::Changed {
                    changes: changes.collect(),
                    heard: Heard::hub(answerer),
                });
            }
        }
    }

    /// What could not be told may be told now.
    fn hurry(&self) {
        if self.desk.cast(publish::Message::Hurry).is_err() {
            debug!("the publisher is restarting, it begins with everything");
        }
    }

    fn tell_streams(&self, message: streams::Message) {
        if self.streams.cast(message).is_err() {
            debug!("streams are restarting, whoever told them hears of it");
        }
    }

    /// Hands mail from another gateway to whom it concerns.
    fn take_mail(&self, from: u16, mail: Mail, answerer: Answerer) {
        let message = match mail {
            Mail::StreamOpened { session, opened } => {
                let Ok(session) = Uuid::try_parse(&session) else {
                    return answerer.answer(Answer::Receipt { taken: false });
                };
                return self.tell_streams(streams::Message::Elsewhere {
                    session,
                    opened,
                    gateway: from,
                    answerer,
                });
            }
            Mail::StreamClosed { session, opened } => {
                let Ok(session) = Uuid::try_parse(&session) else {
                    return answerer.answer(Answer::Receipt { taken: false });
                };
                return self.tell_streams(streams::Message::NotElsewhere {
                    session,
                    opened,
                    gateway: from,
                    answerer,
                });
            }
            Mail::Unheard {
                session,
                topics,
                is_whole,
            } => {
                let Ok(session) = Uuid::try_parse(&session) else {
                    return answerer.answer(Answer::Receipt { taken: false });
                };
                return self.tell_streams(streams::Message::Unheard {
                    session,
                    topics,
                    is_whole,
                    answerer,
                });
            }
            Mail::TaskStatus {
                session,
                task,
                version,
                notification,
            } => {
                let Ok(session) = Uuid::try_parse(&session) else {
                    return answerer.answer(Answer::Receipt { taken: false });
                };
                let notification: Rendered = Bytes::from(notification.into_vec()).into();
                return self.tell_streams(streams::Message::TaskStatus {
                    session,
                    task,
                    news: TaskNews::status(version, notification),
                    answerer: Some(answerer),
                });
            }
            Mail::Response {
                session,
                question,
                json,
                is_error,
            } => {
                let json = json.into_vec();
                let taken = self.bridge.take_mail(&session, question, json, is_error);
                return answerer.answer(Answer::Receipt { taken });
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
