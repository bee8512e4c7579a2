//! `conduit scale`: more or fewer hubs or gateways, while they serve.

use std::time::Duration;

use conduit_config::{Settings, Sources, load};
use conduit_errors::chain;
use conduit_link::{Answer, Operation, Role};
use tokio::time::{Instant, MissedTickBehavior, interval};

use super::Error;
use super::desk::Desk;
use super::tree::Seen;
use crate::args::{Kind, Scale};
use crate::failure::Failure;
use crate::role::{block_on, settings};

/// Scales, waits until it has happened, and returns what was done.
pub(crate) fn answer(sources: &Sources, wanted: &Scale) -> Result<String, Failure> {
    let settings = load(sources)?.settings;
    let (role, count) = (wanted.kind.role(), count(&settings, wanted));
    block_on(async {
        let desk = Desk::open(&settings)?;
        let outcome = scale(&desk, role, count, wanted.no_wait).await;
        desk.close().await;
        outcome
    })
}

// === Behind the answer ===

/// How long a command waits for the processes.
const PATIENCE: Duration = Duration::from_secs(10);
/// How often it looks whether they are there.
const LOOK: Duration = Duration::from_millis(50);

/// Zero gateways are as many as there are cores, as in the configuration.
fn count(settings: &Settings, wanted: &Scale) -> u16 {
    match (wanted.kind, wanted.count) {
        (Kind::Gateway, 0) => {
            let mut settings = settings.clone();
            settings.gateway.count = 0;
            settings::gateways(&settings).min(conduit_supervisor::MOST_GATEWAYS)
        }
        (Kind::Hub | Kind::Gateway, count) => count,
    }
}

async fn scale(desk: &Desk, role: Role, count: u16, no_wait: bool) -> Result<String, Failure> {
    let answer = desk.ask(Operation::Scale { role, count }).await?;
    let Answer::Scaled { from } = answer else {
        return Err(Desk::misunderstood());
    };
    let done = format!("{}: {from} -> {count}", role.as_str());
    if !no_wait {
        wait(desk, role, count, &done).await?;
    }
    Ok(done + "\n")
}

async fn wait(desk: &Desk, role: Role, count: u16, done: &str) -> Result<(), Failure> {
    let until = Instant::now() + PATIENCE;
    let mut looks = interval(LOOK);
    looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        looks.tick().await;
        let missing = match desk.look().await {
            Ok(tree) => missing(&tree, role, count),
            Err(unseen) => Some(chain(&unseen).to_string()),
        };
        let Some(missing) = missing else {
            return Ok(());
        };
        if Instant::now() >= until {
            let (done, patience_s) = (done.to_owned(), PATIENCE.as_secs());
            return Err(Error::Unfinished {
                done,
                patience_s,
                missing,
            }
            .into());
        }
    }
}

/// Says what the tree has not, or has too much, if anything.
fn missing(tree: &[Seen], role: Role, count: u16) -> Option<String> {
    let complaints: Vec<_> = (0..count)
        .filter_map(|index| {
            let seen = tree
                .iter()
                .find(|seen| seen.slot.role == role && seen.slot.index == index);
            match seen {
                None => Some(format!("{}-{index} is not there", role.as_str())),
                Some(seen) if !seen.serves => Some(format!("{} is {}", seen.slot, seen.phase)),
                Some(seen) if !seen.mapped => Some(format!("{} owns no topics", seen.slot)),
                Some(_) => None,
            }
        })
        .chain(
            tree.iter()
                .filter(|seen| seen.slot.role == role && seen.slot.index >= count && seen.serves)
                .map(|seen| format!("{} still serves", seen.slot)),
        )
        .collect();
    (!complaints.is_empty()).then(|| complaints.join(", "))
}

#[cfg(test)]
mod tests {
    use conduit_link::Slot;

    use super::*;

    fn seen(slot: Slot, phase: &str, mapped: bool) -> Seen {
        Seen {
            slot,
            phase: phase.to_owned(),
            serves: phase == "serving",
            mapped,
        }
    }

    fn tree() -> Vec<Seen> {
        vec![
            seen(Slot::STORE, "serving", true),
            seen(Slot::hub(0), "serving", true),
            seen(Slot::hub(1), "starting", false),
            seen(Slot::hub(2), "serving", false),
            seen(Slot::gateway(0), "serving", true),
            seen(Slot::gateway(1), "draining", true),
        ]
    }

    #[test]
    fn what_is_not_there_is_named() {
        assert_eq!(
            missing(&tree(), Role::Hub, 4).unwrap(),
            "hub-1 is starting, hub-2 owns no topics, hub-3 is not there"
        );
    }

    #[test]
    fn what_is_there_still_is_named() {
        assert_eq!(
            missing(&tree(), Role::Hub, 1).unwrap(),
            "hub-2 still serves"
        );
    }

    #[test]
    fn who_drains_is_not_waited_for() {
        assert_eq!(missing(&tree(), Role::Gateway, 1), None);
    }
}
