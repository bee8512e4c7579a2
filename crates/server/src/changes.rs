//! Tells clients what has changed while a server is served.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

/// Something of a server that is no longer what it was.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Change {
    /// The list of tools.
    Tools,
    /// The list of resources, or that of templates.
    Resources,
    /// The list of prompts.
    Prompts,
    /// What is in one resource, or in a part of it.
    Resource {
        /// The resource.
        uri: String,
    },
}

/// Publishes changes; cheap to clone.
///
/// A change is on its way as soon as a method returns, whether anybody awaits it or
/// not. Whoever awaits it knows that each process that serves has noted the change,
/// for each of its clients that asked to hear of such (R41). Clients that are slow
/// hear of it once, however often it happened, and of nothing too late (R21).
///
/// While 100,000 topics of this process wait to be told, as when the hub is away, a change of
/// yet another one is only told as long as somebody awaits it.
///
/// A callback finds it in its context, see [`Context::changes`](crate::Context::changes);
/// a [`Server`](crate::Server) gets it with [`attach`](crate::Server::attach). Before
/// a server is hosted, nobody hears anything.
///
/// ```
/// use conduit_server::{Context, NoArguments, tool};
///
/// let refresh = tool("refresh", "Reads the news", |_: NoArguments, context: Context| async move {
///     context.changes().resource_updated("news://today").await;
///     "there is news"
/// });
/// ```
#[derive(Clone, Default)]
pub struct Changes(Option<Arc<dyn Publish>>);

/// Publishes changes on behalf of the runtime.
pub trait Publish: Send + Sync + 'static {
    /// Puts a change on its way, and returns what resolves when it has happened
    /// (R41). Never blocks, and has a bound: a change that is pending already is the
    /// same change.
    fn publish(&self, change: Change) -> Published;
}

/// Resolves once a change has happened (R41). Dropping it leaves the change on its way.
#[derive(Default)]
pub struct Published(Vec<Pin<Box<dyn Future<Output = ()> + Send>>>);

#[expect(
    clippy::must_use_candidate,
    reason = "a change is published whether anybody awaits it or not"
)]
impl Changes {
    /// Makes a handle over what publishes.
    #[must_use]
    pub fn new(publish: Arc<dyn Publish>) -> Self {
        Self(Some(publish))
    }

    /// Publishes that the list of tools has changed.
    pub fn tools(&self) -> Published {
        self.publish(Change::Tools)
    }

    /// Publishes that the list of resources, or that of templates, has changed.
    pub fn resources(&self) -> Published {
        self.publish(Change::Resources)
    }

    /// Publishes that the list of prompts has changed.
    pub fn prompts(&self) -> Published {
        self.publish(Change::Prompts)
    }

    /// Publishes that a resource has changed, to whoever subscribed to it.
    pub fn resource_updated(&self, uri: impl Into<String>) -> Published {
        self.publish(Change::Resource { uri: uri.into() })
    }

    /// Publishes any change.
    pub fn publish(&self, change: Change) -> Published {
        match &self.0 {
            Some(publish) => publish.publish(change),
            None => Published::default(),
        }
    }
}

impl Published {
    /// Waits for what is under way already.
    pub fn from_future(future: impl Future<Output = ()> + Send + 'static) -> Self {
        Self(vec![Box::pin(future)])
    }
}

impl Future for Published {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        self.0
            .retain_mut(|change| change.as_mut().poll(context).is_pending());
        if self.0.is_empty() {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    }
}

/// Several changes, of which all have to happen.
impl FromIterator<Self> for Published {
    fn from_iter<I: IntoIterator<Item = Self>>(changes: I) -> Self {
        Self(changes.into_iter().flat_map(|change| change.0).collect())
    }
}

impl fmt::Debug for Changes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            Some(_) => "Changes(attached)",
            None => "Changes(nobody hears)",
        })
    }
}

impl fmt::Debug for Published {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Published({} pending)", self.0.len())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Sender, channel};

    use tokio::sync::oneshot;

    use super::*;

    struct Ear(Sender<Change>);

    impl Publish for Ear {
        fn publish(&self, change: Change) -> Published {
            self.0.send(change).expect("a listener");
            Published::default()
        }
    }

    #[test]
    fn a_change_is_published_even_if_nobody_awaits_it() {
        let (sender, heard) = channel();
        let changes = Changes::new(Arc::new(Ear(sender)));

        changes.tools();
        changes.resources();
        changes.prompts();
        changes.resource_updated("mem://a");

        drop(changes);
        let uri = "mem://a".to_owned();
        assert_eq!(
            heard.iter().collect::<Vec<_>>(),
            [
                Change::Tools,
                Change::Resources,
                Change::Prompts,
                Change::Resource { uri }
            ]
        );
    }

    #[tokio::test]
    async fn without_a_runtime_a_change_happens_at_once() {
        Changes::default().tools().await;
    }

    #[tokio::test]
    async fn several_changes_have_happened_when_all_have() {
        let (first, one) = oneshot::channel::<()>();
        let (second, two) = oneshot::channel::<()>();
        let wait = |change: oneshot::Receiver<()>| {
            Published::from_future(async { change.await.expect("a sender") })
        };
        let mut both: Published = [wait(one), wait(two)].into_iter().collect();

        first.send(()).expect("a receiver");
        let early = std::future::poll_fn(|context| Poll::Ready(Pin::new(&mut both).poll(context)));
        assert!(early.await.is_pending());
        second.send(()).expect("a receiver");

        both.await;
    }
}
