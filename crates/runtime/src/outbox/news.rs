//! A change on its way to the streams that tell of it: rendered once, for all of them.

use std::fmt;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use conduit_link::{Subject, Topic};
use conduit_protocol::{ChangeNotice, ListKind, RequestId};

/// A change of a list or of a resource.
pub(crate) struct News {
    topic: Arc<Topic>,
    published: Option<Published>,
    observer: Option<Observer>,
    notice: OnceLock<Option<ChangeNotice>>,
}

/// When a change was published, and who carried it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Published {
    /// In microseconds of the system's monotonic clock, which all processes share.
    pub(crate) at_us: u64,
    /// The shard of the hub.
    pub(crate) shard: u16,
}

/// Hears of each stream whose connection takes a change over, to write it.
pub(crate) type Observer = Arc<dyn Fn(Published) + Send + Sync>;

impl News {
    pub(crate) const fn new(topic: Arc<Topic>, published: Option<Published>) -> Self {
        Self {
            topic,
            published,
            observer: None,
            notice: OnceLock::new(),
        }
    }

    /// Lets `observer` hear of each stream that tells it, if it is known when the change
    /// was published.
    #[must_use]
    pub(crate) fn observed_by(self, observer: Observer) -> Self {
        Self {
            observer: Some(observer),
            ..self
        }
    }

    /// Returns what has changed.
    pub(crate) const fn topic(&self) -> &Arc<Topic> {
        &self.topic
    }

    /// Returns what a client is told: on the listen stream that the request
    /// `subscription` opened, or in a legacy session. `None` for a task, of which its
    /// state is told.
    pub(super) fn tell(&self, subscription: Option<&RequestId>) -> Option<Bytes> {
        let notice = self.notice.get_or_init(|| render(&self.topic.subject));
        let told = notice.as_ref()?.told_to(subscription);
        if let (Some(published), Some(observer)) = (self.published, &self.observer) {
            observer(published);
        }
        Some(told)
    }
}

impl fmt::Debug for News {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("News")
            .field("topic", &self.topic)
            .field("published", &self.published)
            .finish_non_exhaustive()
    }
}

// === Behind the news ===

fn render(subject: &Subject) -> Option<ChangeNotice> {
    Some(match subject {
        Subject::Tools => ChangeNotice::list_changed(ListKind::Tools),
        Subject::Prompts => ChangeNotice::list_changed(ListKind::Prompts),
        Subject::Resources => ChangeNotice::list_changed(ListKind::Resources),
        Subject::Resource(uri) => ChangeNotice::resource_updated(uri),
        Subject::Task(_) => return None,
    })
}
