//! Changes: who is told, and who may have missed them.

use super::*;

#[tokio::test]
async fn a_change_is_told_to_those_who_registered_it_and_to_nobody_else() {
    let hub = hub(Options::default()).await;
    let publisher = gateway(&hub.folder, 0, Manner::Takes).await;
    let listening = gateway(&hub.folder, 1, Manner::Ignores).await;
    let elsewhere = gateway(&hub.folder, 2, Manner::Takes).await;
    let silent = gateway(&hub.folder, 3, Manner::Takes).await;
    publisher.register(&[tools()]).await;
    listening.register(&[resource(1), tools()]).await;
    elsewhere.register(&[resource(1)]).await;

    let answer = publisher.publish(tools(), PATIENCE).await;

    assert_eq!(answer, receipts(2, 1, 0));
    assert_eq!(publisher.changed(), [tools()], "the publisher hears it too");
    assert_eq!(listening.changed(), [tools()]);
    assert_eq!(elsewhere.changed(), []);
    assert_eq!(silent.changed(), []);
    let metrics = conduit_telemetry::exposition(&[hub.telemetry.encode()]).unwrap();
    for line in [
        "conduit_hub_changes_total{process=\"hub-0\",outcome=\"taken\"} 1\n",
        "conduit_hub_changes_total{process=\"hub-0\",outcome=\"untaken\"} 1\n",
        "conduit_hub_topics{process=\"hub-0\"} 4\n",
    ] {
        assert!(metrics.contains(line), "{line}\n{metrics}");
    }
}

#[tokio::test]
async fn who_no_longer_registers_a_topic_hears_nothing_of_it() {
    let hub = hub(Options::default()).await;
    let publisher = gateway(&hub.folder, 0, Manner::Takes).await;
    let listening = gateway(&hub.folder, 1, Manner::Takes).await;
    listening.register(&[tools(), tools()]).await;
    assert_eq!(listening.register(&[tools()]).await, Answer::Done);

    assert_eq!(listening.unregister(&[tools()]).await, Answer::Done);
    assert_eq!(listening.unregister(&[tools()]).await, Answer::Done);

    let answer = publisher.publish(tools(), PATIENCE).await;
    assert_eq!(answer, receipts(0, 0, 0));
    assert_eq!(listening.changed(), []);
}

#[tokio::test]
async fn registrations_are_done_in_the_order_in_which_they_came() {
    let hub = hub(Options::default()).await;
    let listening = gateway(&hub.folder, 0, Manner::Takes).await;

    for _ in 0..50 {
        let wanted = [tools()];
        let (_, _, _, answer) = tokio::join!(
            biased;
            listening.register(&wanted),
            listening.unregister(&wanted),
            listening.register(&wanted),
            listening.publish(tools(), PATIENCE),
        );
        assert_eq!(answer, receipts(1, 1, 0));
    }
}

#[tokio::test]
async fn a_registration_ends_with_its_link() {
    let hub = hub(Options::default()).await;
    let publisher = gateway(&hub.folder, 0, Manner::Takes).await;
    let former = gateway(&hub.folder, 1, Manner::Takes).await;
    former.register(&[tools()]).await;
    former.link.close();
    let successor = gateway(&hub.folder, 1, Manner::Takes).await;

    let answer = publisher.publish(tools(), PATIENCE).await;

    assert_eq!(answer, receipts(0, 0, 0));
    assert_eq!(successor.changed(), []);
}

#[tokio::test]
async fn a_gateway_that_does_not_note_a_change_in_time_is_missing() {
    let hub = hub(Options::default()).await;
    let publisher = gateway(&hub.folder, 0, Manner::Takes).await;
    let holding = gateway(&hub.folder, 1, Manner::Holds).await;
    publisher.register(&[tools()]).await;
    holding.register(&[tools()]).await;

    let answer = publisher.publish(tools(), SOON).await;

    assert_eq!(answer, receipts(1, 1, 1));
}

#[tokio::test]
async fn a_change_waits_until_all_gateways_have_registered_and_settled() {
    let hub = hub(Options {
        gateways: 2,
        gathering: PATIENCE,
        ..Options::default()
    })
    .await;
    let publisher = gateway(&hub.folder, 0, Manner::Takes).await;
    let mut published = pin!(publisher.publish(tools(), PATIENCE));
    assert!(timeout(SOON, &mut published).await.is_err(), "it waits");
    let late = unsettled(&hub.folder, 1, Manner::Takes).await;
    assert!(
        timeout(SOON, &mut published).await.is_err(),
        "it still waits"
    );

    late.register(&[tools()]).await;
    let settled = late.settle().await;

    assert_eq!(published.await, receipts(1, 1, 0));
    assert_eq!(late.changed(), [tools()]);
    assert_eq!(settled, Answer::Settled { missed: false });
}

#[tokio::test]
async fn a_change_that_cannot_wait_for_all_gateways_is_refused() {
    let hub = hub(Options {
        gateways: 2,
        gathering: PATIENCE,
        ..Options::default()
    })
    .await;
    let publisher = gateway(&hub.folder, 0, Manner::Takes).await;
    publisher.register(&[tools()]).await;

    let answer = publisher.publish(tools(), SOON).await;

    assert_eq!(answer, Ok(Answer::Refused(Refusal::NotNow)));
    assert_eq!(publisher.changed(), []);
    let late = unsettled(&hub.folder, 1, Manner::Takes).await;
    assert_eq!(late.settle().await, Answer::Settled { missed: false });
}

#[tokio::test]
async fn who_settles_after_the_gathering_has_missed_the_changes_before() {
    let hub = hub(Options {
        gateways: 2,
        gathering: SOON,
        ..Options::default()
    })
    .await;
    let publisher = unsettled(&hub.folder, 0, Manner::Takes).await;
    assert_eq!(publisher.settle().await, Answer::Settled { missed: false });
    let answer = publisher.publish(tools(), PATIENCE).await;
    assert_eq!(answer, receipts(0, 0, 0));

    let late = unsettled(&hub.folder, 1, Manner::Takes).await;

    assert_eq!(late.settle().await, Answer::Settled { missed: true });
    assert_eq!(late.settle().await, Answer::Settled { missed: false });
}

#[tokio::test]
async fn who_comes_back_to_a_hub_that_carried_changes_may_have_missed_some() {
    let hub = hub(Options::default()).await;
    let publisher = gateway(&hub.folder, 0, Manner::Takes).await;
    let former = gateway(&hub.folder, 1, Manner::Takes).await;
    former.register(&[tools()]).await;
    assert_eq!(
        publisher.publish(tools(), PATIENCE).await,
        receipts(1, 1, 0)
    );

    former.link.close();
    let back = unsettled(&hub.folder, 1, Manner::Takes).await;

    assert_eq!(back.settle().await, Answer::Settled { missed: true });
}

#[tokio::test]
async fn topics_past_the_limit_are_refused_as_a_whole() {
    let hub = hub(Options {
        topics: 2,
        ..Options::default()
    })
    .await;
    let one = gateway(&hub.folder, 0, Manner::Takes).await;
    let other = gateway(&hub.folder, 1, Manner::Takes).await;
    assert_eq!(one.register(&[tools()]).await, Answer::Done);

    let refused = other.register(&[tools(), resource(1)]).await;

    assert_eq!(refused, Answer::Refused(Refusal::Full));
    assert_eq!(one.publish(tools(), PATIENCE).await, receipts(1, 1, 0));
    assert_eq!(other.changed(), []);
    assert_eq!(other.register(&[tools()]).await, Answer::Done);
}

#[tokio::test]
async fn one_change_past_the_limit_is_refused() {
    let hub = hub(Options {
        mails: 1,
        ..Options::default()
    })
    .await;
    let publisher = gateway(&hub.folder, 0, Manner::Takes).await;
    let mut holding = gateway(&hub.folder, 1, Manner::Holds).await;
    holding.register(&[tools()]).await;

    let (first, second) = tokio::join!(publisher.publish(tools(), PATIENCE), async {
        let answerer = holding.held.recv().await.unwrap();
        let second = publisher.publish(tools(), PATIENCE).await;
        answerer.answer(Answer::Receipt { taken: true });
        second
    });

    assert_eq!(second, Ok(Answer::Refused(Refusal::Full)));
    assert_eq!(first, receipts(1, 1, 0));
}
