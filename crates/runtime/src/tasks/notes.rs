//! What the work of a task says of itself: only the newest counts.

use std::time::Duration;

use conduit_server::{Emission, Emit};
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::sleep;

/// The least time between two notes of one task.
const PAUSE: Duration = Duration::from_millis(250);
/// The longest note, in bytes.
const LONGEST: usize = 1_024;

/// Takes what the work says; never blocks, and keeps one text.
#[derive(Debug, Default)]
pub(super) struct Notes {
    newest: Mutex<Newest>,
    news: Notify,
}

#[derive(Debug, Default)]
struct Newest {
    text: Option<String>,
    /// Whether it was handed on.
    told: bool,
}

impl Notes {
    /// Waits for a text that was not handed on, and hands it on; not more often than
    /// every [`PAUSE`].
    ///
    /// Cancel safe: a text that nobody received is the newest still.
    pub(super) async fn next(&self) -> String {
        loop {
            let news = self.news.notified();
            if self.has_news() {
                break;
            }
            news.await;
        }
        // What is said in the meantime is newer.
        sleep(PAUSE).await;
        let mut newest = self.newest.lock();
        newest.told = true;
        newest.text.clone().unwrap_or_default()
    }

    /// Returns what was said last.
    pub(super) fn last(&self) -> Option<String> {
        self.newest.lock().text.clone()
    }

    fn has_news(&self) -> bool {
        let newest = self.newest.lock();
        newest.text.is_some() && !newest.told
    }

    fn take(&self, mut text: String) {
        text.truncate(text.floor_char_boundary(LONGEST));
        let mut newest = self.newest.lock();
        if newest.text.as_ref() == Some(&text) {
            return;
        }
        *newest = Newest {
            text: Some(text),
            told: false,
        };
        drop(newest);
        self.news.notify_one();
    }
}

impl Emit for Notes {
    fn emit(&self, emission: Emission) {
        match emission {
            Emission::Status { message } => self.take(message),
            Emission::Progress {
                done,
                total,
                message,
            } => {
                let counted = || total.map(|total| format!("{done} of {total}"));
                if let Some(text) = message.or_else(counted) {
                    self.take(text);
                }
            }
            // A task has neither a log nor a stream (T-TASK-27); and the list may grow.
            Emission::Log { .. } | Emission::Close { .. } | _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::Instant;

    use super::*;

    fn status(text: &str) -> Emission {
        Emission::Status {
            message: text.to_owned(),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn only_the_newest_note_is_handed_on() {
        let notes = Notes::default();
        notes.emit(status("one"));
        notes.emit(Emission::Progress {
            done: 1.0,
            total: Some(4.0),
            message: None,
        });

        let begun = Instant::now();

        assert_eq!(notes.next().await, "1 of 4");
        assert_eq!(begun.elapsed(), PAUSE);
        assert!(!notes.has_news());
    }

    #[tokio::test(start_paused = true)]
    async fn a_note_that_nobody_received_is_not_lost() {
        let notes = Notes::default();
        notes.emit(status("one"));

        let left = tokio::time::timeout(PAUSE / 2, notes.next()).await;

        assert!(left.is_err());
        assert_eq!(notes.next().await, "one");
    }

    #[test]
    fn what_says_nothing_new_is_no_news() {
        let notes = Notes::default();
        for message in [None, Some("half".to_owned())] {
            notes.emit(Emission::Progress {
                done: 1.0,
                total: None,
                message,
            });
        }
        notes.newest.lock().told = true;

        notes.emit(status("half"));

        assert!(!notes.has_news());
        assert_eq!(notes.last().as_deref(), Some("half"));
    }

    #[test]
    fn a_note_is_cut_where_it_becomes_too_long() {
        let notes = Notes::default();

        notes.emit(status(&"é".repeat(LONGEST)));

        assert_eq!(notes.last().map(|text| text.len()), Some(LONGEST));
    }
}
