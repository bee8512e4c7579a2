//! Changes: who is told, and who is waited for.

use super::*;

#[tokio::test]
async fn a_change_is_told_to_those_who_registered_it_and_to_nobody_else() {
    let hub = hub(Options::default()).await;
    let publisher = gateway(&hub.folder, 0, Manner::Takes).await;
    let listening = gateway(&hub.folder, 1, Manner::Takes).await;
    let elsewhere = gateway(&hub.folder, 2, Manner::Takes).await;
    let silent = gateway(&hub.folder, 3, Manner::Takes).await;
    publisher.register(&[tools()]).await;
    listening.register(&[resource(1), tools()]).await;
    elsewhere.register(&[resource(1)]).await;

    let answer = publisher.publish(tools(), PATIENCE).await;

    assert_eq!(answer, told());
    assert_eq!(publisher.changed(), [tools()], "the publisher hears it too");
    assert_eq!(listening.changed(), [tools()]);
    assert_eq!(elsewhere.changed(), []);
    assert_eq!(silent.changed(), []);
    let metrics = conduit_telemetry::exposition(&[hub.telemetry.encode()]).unwrap();
    for line in [
        "conduit_hub_changes_total{process=\"hub-0\",outcome=\"taken\"} 2\n",
        "conduit_hub_published_total{process=\"hub-0\"} 1\n",
        "conduit_hub_topics{process=\"hub-0\"} 2\n",
        "conduit_hub_registrations{process=\"hub-0\"} 4\n",
    ] {
        assert!(metrics.contains(line), "{line}\n{metrics}");
    }
}

#[tokio::test]
async fn changes_that_come_together_reach_each_gateway_together() {
    let hub = hub(Options::default()).await;
    let publisher = gateway(&hub.folder, 0, Manner::Takes).await;
    let refusing = gateway(&hub.folder, 1, Manner::Refuses).await;
    publisher
        .register(&[tools(), resource(1), resource(2)])
        .await;
    refusing.register(&[resource(1)]).await;

    let topics = [tools(), resource(1), resource(2)];
    let answer = publisher.publish_by(1, &topics, PATIENCE).await;

    assert_eq!(answer, left(&[1]), "who refuses keeps no other change");
    assert_eq!(publisher.changed(), topics);
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

    assert_eq!(publisher.publish(tools(), PATIENCE).await, told());
    assert_eq!(listening.changed(), []);
}

#[tokio::test]
async fn registrations_are_done_in_the_order_in_which_they_came() {
    let hub = hub(Options::default()).await;
    let listening = gateway(&hub.folder, 0, Manner::Takes).await;

    for round in 1..=50 {
        let wanted = [tools()];
        let (_, _, _, answer) = tokio::join!(
            biased;
            listening.register(&wanted),
            listening.unregister(&wanted),
            listening.register(&wanted),
            listening.publish(tools(), PATIENCE),
        );
        assert_eq!((answer, listening.changed().len()), (told(), round));
    }
}

#[tokio::test]
async fn a_gateway_whose_link_is_down_is_waited_for_until_it_is_known_to_be_dead() {
    let hub = hub(Options::default()).await;
    let publisher = gateway(&hub.folder, 0, Manner::Takes).await;
    let life = Uuid::new_v4();
    let former = gateway_in(&hub.folder, 1, life, Manner::Takes).await;
    former.register(&[tools()]).await;
    former.link.close();
    hub.until_gateways(1).await;

    assert_eq!(publisher.publish(tools(), PATIENCE).await, left(&[0]));
    assert_eq!(publisher.publish(resource(1), PATIENCE).await, told());
    hub.rolls.send_replace(Some(roll(1, &[], &[life])));
    while publisher.publish(tools(), PATIENCE).await != told() {
        tokio::task::yield_now().await;
    }

    assert_eq!(hub.window.view().unwrap().registrations, 0);
}

#[tokio::test]
async fn a_gateway_that_is_back_hears_what_was_not_told() {
    let hub = hub(Options::default()).await;
    let publisher = gateway(&hub.folder, 0, Manner::Takes).await;
    let life = Uuid::new_v4();
    let former = gateway_in(&hub.folder, 1, life, Manner::Takes).await;
    former.register(&[tools(), resource(1)]).await;
    former.link.close();
    hub.until_gateways(1).await;

    let back = unsettled(&hub.folder, 1, life, Manner::Takes).await;
    back.register(&[tools()]).await;
    assert_eq!(publisher.publish(resource(1), PATIENCE).await, left(&[0]));
    assert_eq!(back.settle().await, Answer::Done);

    assert_eq!(publisher.publish(resource(1), PATIENCE).await, told());
    assert_eq!(publisher.publish(tools(), PATIENCE).await, told());
    assert_eq!(back.changed(), [tools()]);
}

#[tokio::test]
async fn a_gateway_that_does_not_note_a_change_in_time_is_missing() {
    let hub = hub(Options::default()).await;
    let publisher = gateway(&hub.folder, 0, Manner::Takes).await;
    let holding = gateway(&hub.folder, 1, Manner::Holds).await;
    publisher.register(&[tools()]).await;
    holding.register(&[tools()]).await;

    assert_eq!(publisher.publish(tools(), SOON).await, left(&[0]));
}

#[tokio::test]
async fn a_change_waits_until_all_who_may_listen_have_registered_and_settled() {
    let life = Uuid::new_v4();
    let hub = hub_that_awaits(Options::default(), &[life]).await;
    let publisher = gateway(&hub.folder, 0, Manner::Takes).await;
    let mut published = pin!(publisher.publish(tools(), PATIENCE));
    assert!(timeout(SOON, &mut published).await.is_err(), "it waits");
    let late = unsettled(&hub.folder, 1, life, Manner::Takes).await;
    assert!(
        timeout(SOON, &mut published).await.is_err(),
        "it still waits"
    );

    late.register(&[tools()]).await;
    late.settle().await;

    assert_eq!(published.await, told());
    assert_eq!(late.changed(), [tools()]);
}

#[tokio::test]
async fn a_change_that_cannot_wait_for_all_gateways_is_refused() {
    let hub = hub_that_awaits(Options::default(), &[Uuid::new_v4()]).await;
    let publisher = gateway(&hub.folder, 0, Manner::Takes).await;

    let answer = publisher.publish(tools(), SOON).await;

    assert_eq!(answer, Answer::Refused(Refusal::NotNow));
}

#[tokio::test]
async fn who_follows_an_older_map_is_refused() {
    let hub = hub(Options::default()).await;
    let publisher = gateway(&hub.folder, 0, Manner::Takes).await;
    let ahead = gateway(&hub.folder, 1, Manner::Takes).await;

    assert_eq!(ahead.enter(2).await, Answer::Done);

    let stale = Answer::Refused(Refusal::Stale);
    assert_eq!(publisher.publish(tools(), PATIENCE).await, stale);
    assert_eq!(publisher.register(&[tools()]).await, stale);
    assert_eq!(publisher.settle().await, stale);
    let not_yet = publisher.publish_by(2, &[tools()], SOON).await;
    assert_eq!(
        not_yet,
        Answer::Refused(Refusal::NotNow),
        "no roll is there"
    );
    hub.rolls.send_replace(Some(roll(2, &[], &[])));
    assert_eq!(publisher.publish_by(2, &[tools()], PATIENCE).await, told());
}

#[tokio::test]
async fn a_registration_is_answered_once_everybody_knows_that_somebody_listens() {
    let hub = hub(Options::default()).await;
    let mut deaf = gateway(&hub.folder, 0, Manner::Deaf).await;
    let complete = deaf.held.recv().await.unwrap();
    complete.answer(Answer::Done);
    let listening = gateway(&hub.folder, 1, Manner::Takes).await;

    let wanted = [tools()];
    let mut registered = pin!(listening.register(&wanted));
    let news = tokio::select! {
        _ = registered.as_mut() => panic!("nobody else knows yet"),
        news = deaf.held.recv() => news.unwrap(),
    };
    assert!(timeout(SOON, &mut registered).await.is_err(), "it waits");
    news.answer(Answer::Done);

    assert_eq!(registered.await, Answer::Done);
    let added = vec![tools().fingerprint()];
    assert!(
        deaf.interest
            .lock()
            .iter()
            .any(|told| { matches!(told, FromHub::Interest { added: now, .. } if *now == added) })
    );
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
    assert_eq!(one.publish(tools(), PATIENCE).await, told());
    assert_eq!(other.changed(), []);
    assert_eq!(other.register(&[tools()]).await, Answer::Done);
}

#[tokio::test]
async fn one_batch_past_the_limit_is_refused() {
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
        answerer.answer(Answer::Done);
        second
    });

    assert_eq!(second, Answer::Refused(Refusal::Full));
    assert_eq!(first, told());
}
