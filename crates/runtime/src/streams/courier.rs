//! Brings what a session has not heard of to the gateway that has its stream.

use std::collections::VecDeque;
use std::time::Duration;

use conduit_actor::Seat;
use conduit_link::{Answer, Answerer, Mail, Slot, Topic};
use tokio_util::task::TaskTracker;
use tracing::debug;
use uuid::Uuid;

use super::parked::Moment;
use super::{Message, Moved};
use crate::mail::PostOffice;
use crate::outbox::Change;

/// The most bytes of topics in one mail.
const FRAME: usize = 256 * 1024;

/// Sends what was held for sessions; cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct Courier {
    pub(crate) post: PostOffice,
    /// The longest that one mail may take.
    pub(crate) patience: Duration,
    pub(crate) tracker: TaskTracker,
}

/// What is handed over.
#[derive(Debug)]
pub(super) struct Parcel {
    pub(super) session: Uuid,
    pub(super) to: To,
    pub(super) changes: Vec<Change>,
    /// Whether nothing is missing that the session has not heard of.
    pub(super) is_whole: bool,
    /// When it was packed.
    pub(super) packed: Moment,
    /// What becomes of the session here once it has arrived.
    pub(super) then: Then,
}

/// Who gets it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum To {
    /// The gateway of this index.
    One(u16),
    /// Whoever has a stream of the session.
    Others,
}

/// What becomes of a session that was handed over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Then {
    /// It stays, for what is late; another gateway has its newest stream, opened then.
    Leave { opened: u64 },
    /// It is forgotten.
    Forget,
    /// It has a stream here, which stays.
    Stay,
}

impl Courier {
    /// Carries a parcel, tells the streams of its arrival, and answers whoever asked for
    /// it that the session is known here.
    pub(super) fn carry(&self, parcel: Parcel, me: Seat<Message>, answerer: Option<Answerer>) {
        let courier = self.clone();
        self.tracker.spawn(async move {
            let moved = Moved {
                session: parcel.session,
                packed: parcel.packed,
                then: parcel.then,
            };
            if courier.bring(parcel).await {
                if me.cast(Message::Moved(moved)).is_err() {
                    debug!("no streams any more, a session is parked twice");
                }
            } else {
                debug!("nobody has taken what a session has not heard of");
            }
            if let Some(answerer) = answerer {
                answerer.answer(Answer::Receipt { taken: true });
            }
        });
    }

    /// Returns whether all of it has arrived.
    async fn bring(&self, parcel: Parcel) -> bool {
        let Parcel {
            session,
            to,
            changes,
            is_whole,
            ..
        } = parcel;
        let topics = changes.into_iter().filter(|change| change.news.is_none());
        let mut pieces = pieces(topics.map(|change| Topic::clone(&change.topic)));
        while let Some(topics) = pieces.pop_front() {
            let mail = Mail::Unheard {
                session: session.to_string(),
                topics,
                is_whole: is_whole && pieces.is_empty(),
            };
            if !self.send(to, mail).await {
                return false;
            }
        }
        true
    }

    async fn send(&self, to: To, mail: Mail) -> bool {
        match to {
            To::Others => self
                .post
                .send_to_others(mail)
                .await
                .is_some_and(|taken| taken > 0),
            To::One(index) => {
                let slot = Slot::gateway(index);
                let answer = self.post.send_to(slot, mail, self.patience).await;
                answer == Some(Answer::Receipt { taken: true })
            }
        }
    }
}

/// Cuts topics into pieces that fit into frames; there is always one.
fn pieces(topics: impl Iterator<Item = Topic>) -> VecDeque<Vec<Topic>> {
    let mut pieces = VecDeque::from([Vec::new()]);
    let mut size = 0;
    for topic in topics {
        size += topic.size();
        match pieces.back_mut() {
            Some(piece) if piece.is_empty() || size <= FRAME => piece.push(topic),
            Some(_) | None => {
                size = topic.size();
                pieces.push_back(vec![topic]);
            }
        }
    }
    pieces
}

#[cfg(test)]
mod tests {
    use conduit_link::Subject;

    use super::*;

    fn topic(uri: String) -> Topic {
        Topic {
            server: "test".to_owned(),
            subject: Subject::Resource(uri),
        }
    }

    #[test]
    fn topics_are_cut_into_pieces_that_fit() {
        let topics = (0..300).map(|number| topic(format!("{number:04000}")));

        let cut = pieces(topics);

        assert!(cut.len() > 1);
        assert_eq!(cut.iter().map(Vec::len).sum::<usize>(), 300);
        for piece in cut {
            assert!(piece.iter().map(Topic::size).sum::<usize>() <= FRAME);
        }
    }

    #[test]
    fn nothing_is_a_piece_too_and_so_is_what_is_too_large() {
        assert_eq!(pieces(std::iter::empty()), [Vec::new()]);
        let large = ["x", "y"].map(|letter| topic(letter.repeat(2 * FRAME)));

        assert_eq!(pieces(large.into_iter()).len(), 2);
    }
}
