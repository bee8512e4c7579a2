//! The changes that a stream has to tell of: a set, so a slow reader costs bounded
//! memory and misses nothing (R21).

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;

use conduit_link::{Subject, Topic};
use conduit_protocol::{ListKind, Rendered, RequestId, list_changed, resource_updated};

/// Changes in the order in which they happened first, each once. Never more than the
/// stream's client asked to hear of.
#[derive(Debug, Default)]
pub(crate) struct Pending {
    order: VecDeque<Arc<Topic>>,
    known: HashSet<Arc<Topic>>,
    /// The request that opened the stream; none in a legacy session.
    subscription: Option<RequestId>,
}

impl Pending {
    pub(crate) fn of(subscription: Option<RequestId>) -> Self {
        Self {
            subscription,
            ..Self::default()
        }
    }

    pub(crate) fn add(&mut self, topic: &Arc<Topic>) {
        if self.known.insert(Arc::clone(topic)) {
            self.order.push_back(Arc::clone(topic));
        }
    }

    /// Takes the oldest change out, as the client is told of it.
    pub(crate) fn next(&mut self) -> Option<Rendered> {
        let topic = self.order.pop_front()?;
        self.known.remove(&topic);
        let subscription = self.subscription.as_ref();
        let message = match &topic.subject {
            Subject::Tools => list_changed(ListKind::Tools, subscription),
            Subject::Prompts => list_changed(ListKind::Prompts, subscription),
            Subject::Resources => list_changed(ListKind::Resources, subscription),
            Subject::Resource(uri) => resource_updated(uri, subscription),
        };
        Some(message.into())
    }

    pub(crate) fn take_all(&mut self) -> Vec<Arc<Topic>> {
        self.known.clear();
        self.order.drain(..).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn topic(uri: &str) -> Arc<Topic> {
        Arc::new(Topic {
            server: "test".to_owned(),
            subject: Subject::Resource(uri.to_owned()),
        })
    }

    fn drain(pending: &mut Pending) -> Vec<String> {
        std::iter::from_fn(|| pending.next())
            .map(|message| String::from_utf8(message.into_bytes().to_vec()).expect("text"))
            .collect()
    }

    #[test]
    fn what_changes_often_is_told_once_in_the_order_of_its_first_change() {
        let mut pending = Pending::default();
        let (a, b) = (topic("x://a"), topic("x://b"));

        for topic in [&a, &b, &a, &a, &b] {
            pending.add(topic);
        }

        let told = drain(&mut pending);
        assert_eq!(told.len(), 2, "{told:?}");
        assert!(told[0].contains("x://a") && told[1].contains("x://b"));
    }

    #[test]
    fn what_changes_after_it_was_told_is_told_again() {
        let mut pending = Pending::of(Some(RequestId::from(7)));
        let a = topic("x://a");
        pending.add(&a);
        drain(&mut pending);

        pending.add(&a);

        let told = drain(&mut pending);
        assert!(told[0].contains(r#"subscriptionId":7"#), "{told:?}");
    }
}
