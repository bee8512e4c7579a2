//! What an operator asks over a link of his own: scale, show.
//!
//! Each operation is a task, so that a slow disk or a hung hub holds up nobody else.
//! Wishes are written one after another, in the order in which they came: the last wins.
//!
//! Bound: [`OPERATIONS`] at a time; one more is refused.

use std::sync::Arc;

use conduit_link::{
    Answer, Answerer, Lane, Message as Body, Operation, Refusal, Role, ShardView, SlotState,
    ToChild, TreeView,
};
use tokio::task::JoinSet;
use tracing::{debug, error, info};

use crate::children;
use crate::house::House;
use crate::plan::most;
use crate::table::{Table, Target};

/// The most operations at one time.
pub(crate) const OPERATIONS: usize = 16;

/// Begins an operation, and answers when it is over.
pub(crate) fn begin(house: &Arc<House>, operation: Operation, answerer: Answerer) {
    let Ok(turn) = Arc::clone(&house.operations).try_acquire_owned() else {
        answerer.answer(Answer::Refused(Refusal::Full));
        return;
    };
    let held = Arc::clone(house);
    house.tasks.spawn(async move {
        // Cut short by the end, the answerer says that it is not the time.
        tokio::select! {
            biased;
            () = held.end.cancelled() => {}
            answer = answer(&held, operation) => answerer.answer(answer),
        }
        drop(turn);
    });
}

// === Behind the operations ===

async fn answer(house: &Arc<House>, operation: Operation) -> Answer {
    match operation {
        Operation::Scale { role, count } => scale(house, role, count).await,
        Operation::ShowHub => Answer::Hub(show_hub(house).await),
        Operation::ShowTree => Answer::Tree(show_tree(&house.table.lock())),
    }
}

async fn scale(house: &Arc<House>, role: Role, count: u16) -> Answer {
    let Some(most) = most(role).filter(|_| count > 0) else {
        return Answer::Refused(Refusal::Misplaced);
    };
    if count > most {
        return Answer::Refused(Refusal::Full);
    }
    // Held until the tree knows, so that the order is the same on the disk and in it.
    let mut wishes = house.wishes.lock().await;
    if house.table.lock().stopping {
        return Answer::Refused(Refusal::NotNow);
    }
    let (from, wished) = (wishes.count(role), wishes.with(role, count));
    let written = tokio::task::spawn_blocking({
        let (house, wished) = (Arc::clone(house), wished.clone());
        move || {
            house.launcher.restore_run_dir()?;
            wished.save()
        }
    });
    let written = written.await.map_err(std::io::Error::other);
    if let Err(error) = written.and_then(|written| written) {
        error!(%error, role = role.as_str(), "cannot keep how many processes are wished for");
        return Answer::Refused(Refusal::Storage);
    }
    *wishes = wished;
    info!(role = role.as_str(), from, to = count, "scaling");
    children::tell(house, |reply| children::Message::Scale {
        role,
        count,
        reply,
    })
    .await;
    Answer::Scaled { from }
}

/// Shows what `/status` shows. A wish that was answered is in the table.
fn show_tree(table: &Table) -> TreeView {
    let map = table.roster.map();
    let slots = table.shown().into_iter().map(|(member, _)| SlotState {
        slot: member.slot.clone(),
        phase: member.place.phase().as_str().to_owned(),
        serves: member.place.serving(),
        mapped: member.slot.role != Role::Hub || map.shards.contains(&member.slot.index),
    });
    TreeView {
        slots: slots.collect(),
        hubs: table.roster.wanted(Role::Hub),
        gateways: table.roster.wanted(Role::Gateway),
    }
}

/// Asks every hub that serves, all at once; those that do not answer are left out.
async fn show_hub(house: &Arc<House>) -> Vec<ShardView> {
    let targets = house.table.lock().targets(Some(Role::Hub));
    let mut asked = JoinSet::new();
    for target in targets {
        asked.spawn(show_shard(Arc::clone(house), target));
    }
    let answers = asked.join_all().await;
    let mut shards: Vec<_> = answers.into_iter().flatten().collect();
    shards.sort_by_key(|shard| shard.slot.index);
    shards
}

async fn show_shard(house: Arc<House>, target: Target) -> Option<ShardView> {
    let (peer, patience) = (target.link.slot(), house.options.scrape_patience);
    let question = Body::ToChild(ToChild::ShowShard);
    match target.link.call(Lane::Control, question, patience).await {
        Ok(Answer::Shard(shard)) if shard.slot == peer => return Some(shard),
        Ok(other) => debug!(%peer, answer = ?other, "hub does not show itself"),
        Err(error) => debug!(%peer, %error, "hub does not answer"),
    }
    None
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use conduit_link::Slot;
    use uuid::Uuid;

    use super::*;
    use crate::plan::Options;

    #[test]
    fn a_tree_shows_who_serves_which_hubs_own_topics_and_what_is_wished_for() {
        let slots = vec![Slot::STORE, Slot::hub(0), Slot::gateway(0)];
        let mut table = Table::new(slots, &Options::default());
        let store = &mut table.roster.member(0).unwrap().place;
        store.started(Duration::ZERO, 1, Uuid::from_u128(1));
        store.ready(Duration::ZERO);
        table.scale(Role::Hub, 2, Duration::ZERO);
        table.scale(Role::Gateway, 3, Duration::ZERO);
        table.scale(Role::Gateway, 2, Duration::ZERO);

        let tree = show_tree(&table);

        assert_eq!((tree.hubs, tree.gateways), (2, 2));
        let shown: Vec<_> = tree
            .slots
            .iter()
            .filter(|state| state.slot.role != Role::Gateway)
            .map(|state| (&state.slot, state.serves, state.mapped))
            .collect();
        let expected = [
            (&Slot::STORE, true, true),
            (&Slot::hub(0), false, true),
            (&Slot::hub(1), false, false),
        ];
        assert_eq!(shown, expected);
        assert_eq!(tree.slots.first().unwrap().phase, "serving");
    }
}
