//! What a client is told when something has changed.

use std::time::Duration;

use conduit_testkit::{PATIENCE, wait_until};
use rmcp::model::{
    ServerNotification, SubscribeRequestParams, SubscriptionFilter, UnsubscribeRequestParams,
};
use rmcp::service::Subscription;
use serde_json::json;
use tokio::time::{sleep, timeout};

use crate::client::{Client, Mode, Place, Told};

const WATCHED: &str = "test://watched-resource";

/// How long nothing has to come before we believe that nothing will.
const SILENCE: Duration = Duration::from_millis(300);

/// A client that watches the resource, as its era does it.
enum Watch<'a> {
    Listening(Box<Subscription>),
    Subscribed(&'a Client),
}

pub(crate) async fn of_a_resource(client: &Client) {
    let mut watch = Watch::start(client).await;

    touch(client, "test://static-text").await;
    touch(client, WATCHED).await;
    assert_eq!(watch.next().await, WATCHED);
    watch.stop().await;

    client.told().await;
    touch(client, WATCHED).await;
    sleep(SILENCE).await;
    assert_eq!(client.told().await, []);
}

pub(crate) async fn of_lists(client: &Client) {
    if client.mode == Mode::Legacy {
        client.told().await;
        client.call("test_trigger_tool_change", json!({})).await;
        client.call("test_trigger_prompt_change", json!({})).await;
        let mut told = Vec::new();
        wait_until("it is told", PATIENCE, async || {
            told.extend(client.told().await);
            let wanted = [Told::ToolsChanged, Told::PromptsChanged];
            wanted.iter().all(|one| told.contains(one)).then_some(())
        })
        .await;
        return;
    }
    let filter = SubscriptionFilter::builder()
        .tools_list_changed()
        .prompts_list_changed()
        .build();
    let mut subscription = client.service.listen(filter).await.expect("a stream");

    client.call("test_trigger_tool_change", json!({})).await;
    assert!(matches!(
        next(&mut subscription).await,
        ServerNotification::ToolListChangedNotification(_)
    ));
    client.call("test_trigger_prompt_change", json!({})).await;
    assert!(matches!(
        next(&mut subscription).await,
        ServerNotification::PromptListChangedNotification(_)
    ));
    subscription.cancel().await.expect("it is sent");
}

/// One client changes what another watches.
pub(crate) async fn of_others(place: &Place<'_>, mode: Mode) {
    let (client, other) = (
        Client::connect(place, mode).await,
        Client::connect(place, mode).await,
    );
    let mut watch = Watch::start(&client).await;

    touch(&other, WATCHED).await;
    assert_eq!(watch.next().await, WATCHED);

    watch.stop().await;
    client.end().await;
    other.end().await;
}

impl<'a> Watch<'a> {
    async fn start(client: &'a Client) -> Self {
        let service = &client.service;
        client.told().await;
        if client.mode == Mode::Legacy {
            let params = SubscribeRequestParams::new(WATCHED);
            service.subscribe(params).await.expect("a subscription");
            return Self::Subscribed(client);
        }
        let filter = SubscriptionFilter::builder()
            .resource_subscriptions([WATCHED])
            .build();
        let subscription = service.listen(filter).await.expect("a stream");
        Self::Listening(Box::new(subscription))
    }

    /// Waits for the next update, and returns of what.
    async fn next(&mut self) -> String {
        match self {
            Self::Listening(subscription) => {
                let told = next(subscription).await;
                let ServerNotification::ResourceUpdatedNotification(updated) = told else {
                    panic!("no update but {told:?}");
                };
                updated.params.uri
            }
            Self::Subscribed(client) => {
                let (uri, _) = wait_until("it is told", PATIENCE, async || {
                    client.told().await.into_iter().find_map(|told| match told {
                        Told::Updated(uri) => Some(uri),
                        Told::Progress(_)
                        | Told::Logged(_)
                        | Told::ToolsChanged
                        | Told::PromptsChanged => None,
                    })
                })
                .await;
                uri
            }
        }
    }

    async fn stop(self) {
        match self {
            Self::Listening(mut subscription) => subscription.cancel().await.expect("it is sent"),
            Self::Subscribed(client) => {
                let params = UnsubscribeRequestParams::new(WATCHED);
                let answer = client.service.unsubscribe(params).await;
                answer.expect("no subscription any more");
            }
        }
    }
}

async fn touch(client: &Client, uri: &str) {
    let touched = client.call("tour_touch_resource", json!({ "uri": uri }));
    assert_ne!(touched.await.is_error, Some(true));
}

async fn next(subscription: &mut Subscription) -> ServerNotification {
    let next = timeout(PATIENCE, subscription.next())
        .await
        .expect("in time");
    next.expect("a stream").expect("a notification")
}
