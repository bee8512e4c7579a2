//! Whether the holder of tasks is dead. Pure.

use uuid::Uuid;

use crate::task::Holder;

/// Tells whether `holder` will never do anything again.
///
/// `attached` are the gateways whose link is up, `known` the lives that the
/// supervisor has not reaped; before it has said so, there is none.
pub(crate) fn is_dead(holder: Holder, attached: &[Holder], known: Option<&[Uuid]>) -> bool {
    if attached.iter().any(|other| other.life == holder.life) {
        return false;
    }
    let replaced = attached.iter().any(|other| other.slot == holder.slot);
    replaced || known.is_some_and(|lives| !lives.contains(&holder.life))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOLDER: Holder = Holder {
        life: Uuid::from_u128(1),
        slot: 0,
    };
    const SUCCESSOR: Holder = Holder {
        life: Uuid::from_u128(2),
        slot: 0,
    };
    const OTHER: Holder = Holder {
        life: Uuid::from_u128(3),
        slot: 1,
    };

    #[test]
    fn whoever_is_attached_lives() {
        assert!(!is_dead(HOLDER, &[HOLDER], None));
        assert!(!is_dead(HOLDER, &[SUCCESSOR, HOLDER], Some(&[])));
    }

    #[test]
    fn whoever_was_reaped_is_dead() {
        assert!(is_dead(HOLDER, &[OTHER], Some(&[OTHER.life])));
        assert!(is_dead(HOLDER, &[], Some(&[])));
    }

    #[test]
    fn whoever_may_still_run_is_waited_for() {
        assert!(!is_dead(HOLDER, &[OTHER], Some(&[HOLDER.life])));
    }

    #[test]
    fn nobody_is_dead_before_there_is_news() {
        assert!(!is_dead(HOLDER, &[OTHER], None));
    }

    #[test]
    fn a_successor_in_its_slot_proves_a_death() {
        assert!(is_dead(HOLDER, &[SUCCESSOR], None));
        assert!(is_dead(HOLDER, &[SUCCESSOR], Some(&[HOLDER.life])));
    }
}
