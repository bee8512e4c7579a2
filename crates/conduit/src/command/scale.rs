//! `conduit scale`: more or fewer hubs or gateways, while they serve.

use std::time::Duration;

use conduit_config::{Settings, Sources, load};
use conduit_errors::chain;
use conduit_link::{Answer, Operation, Role, SlotState, TreeView};
use tokio::time::{Instant, MissedTickBehavior, interval};

use super::Error;
use super::desk::Desk;
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
        let progress = match desk.look().await {
            Ok(tree) => progress(&tree, role, count),
            Err(unseen) => Progress::Missing(chain(&unseen).to_string()),
        };
        let done = done.to_owned();
        let missing = match progress {
            Progress::Complete => return Ok(()),
            Progress::Overtaken { wanted } => return Err(Error::Overtaken { done, wanted }.into()),
            Progress::Missing(missing) => missing,
        };
        if Instant::now() >= until {
            let patience_s = PATIENCE.as_secs();
            return Err(Error::Unfinished {
                done,
                patience_s,
                missing,
            }
            .into());
        }
    }
}

/// How far a wish has come true.
#[derive(Debug, PartialEq, Eq)]
enum Progress {
    Complete,
    /// This is still to come, or to go.
    Missing(String),
    /// Somebody has wished for another count since.
    Overtaken {
        wanted: u16,
    },
}

fn progress(tree: &TreeView, role: Role, count: u16) -> Progress {
    let wanted = match role {
        Role::Hub => tree.hubs,
        Role::Gateway => tree.gateways,
        Role::Store | Role::Supervisor | Role::Operator => count,
    };
    if wanted != count {
        return Progress::Overtaken { wanted };
    }
    missing(&tree.slots, role, count).map_or(Progress::Complete, Progress::Missing)
}

/// Says what the tree has not, or has too much, if anything.
fn missing(slots: &[SlotState], role: Role, count: u16) -> Option<String> {
    let complaints: Vec<_> = (0..count)
        .filter_map(|index| {
            let state = slots
                .iter()
                .find(|state| state.slot.role == role && state.slot.index == index);
            match state {
                None => Some(format!("{}-{index} is not there", role.as_str())),
                Some(state) if !state.serves => Some(format!("{} is {}", state.slot, state.phase)),
                Some(state) if !state.mapped => Some(format!("{} owns no topics", state.slot)),
                Some(_) => None,
            }
        })
        .chain(
            slots
                .iter()
                .filter(|state| state.slot.role == role && state.slot.index >= count)
                .filter(|state| state.serves)
                .map(|state| format!("{} still serves", state.slot)),
        )
        .collect();
    (!complaints.is_empty()).then(|| complaints.join(", "))
}

#[cfg(test)]
mod tests {
    use conduit_link::Slot;

    use super::*;

    fn state(slot: Slot, phase: &str, mapped: bool) -> SlotState {
        SlotState {
            slot,
            phase: phase.to_owned(),
            serves: phase == "serving",
            mapped,
        }
    }

    /// A tree in which so many hubs and gateways are wanted.
    fn tree(hubs: u16, gateways: u16) -> TreeView {
        let slots = vec![
            state(Slot::STORE, "serving", true),
            state(Slot::hub(0), "serving", true),
            state(Slot::hub(1), "starting", false),
            state(Slot::hub(2), "serving", false),
            state(Slot::gateway(0), "serving", true),
            state(Slot::gateway(1), "draining", true),
        ];
        TreeView {
            slots,
            hubs,
            gateways,
        }
    }

    fn lacks(missing: &str) -> Progress {
        Progress::Missing(missing.to_owned())
    }

    #[test]
    fn what_is_not_there_is_named() {
        assert_eq!(
            progress(&tree(4, 1), Role::Hub, 4),
            lacks("hub-1 is starting, hub-2 owns no topics, hub-3 is not there")
        );
    }

    #[test]
    fn what_is_there_still_is_named() {
        assert_eq!(
            progress(&tree(1, 1), Role::Hub, 1),
            lacks("hub-2 still serves")
        );
    }

    #[test]
    fn who_drains_is_not_waited_for() {
        assert_eq!(progress(&tree(4, 1), Role::Gateway, 1), Progress::Complete);
    }

    #[test]
    fn nobody_waits_for_a_wish_that_holds_no_longer() {
        let tree = tree(4, 2);

        assert_eq!(
            progress(&tree, Role::Hub, 1),
            Progress::Overtaken { wanted: 4 }
        );
        assert_eq!(
            progress(&tree, Role::Gateway, 1),
            Progress::Overtaken { wanted: 2 },
            "though the tree is as it was asked to be"
        );
    }
}
