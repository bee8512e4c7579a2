//! How many data frames the peer may still send us.
//!
//! The peer starts with none. We grant a window of them, and grant again what
//! was given back, in portions, so that a credit frame is rare.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use tokio::sync::Notify;

/// The account of one connection.
#[derive(Debug)]
pub(crate) struct Account {
    /// Granted, and not spent by the peer.
    granted: AtomicU32,
    /// Given back, and not granted again.
    returned: AtomicU32,
    /// What makes a grant worth a frame.
    portion: u32,
    /// Wakes the writer when there is something to grant.
    work: Arc<Notify>,
}

/// A data frame that the peer has sent and we have not finished with.
#[derive(Debug)]
pub(crate) struct Credit(Arc<Account>);

impl Account {
    pub(crate) fn new(window: u32, work: Arc<Notify>) -> Arc<Self> {
        Arc::new(Self {
            granted: AtomicU32::new(0),
            returned: AtomicU32::new(window.max(1)),
            portion: (window / 4).max(1),
            work,
        })
    }

    /// Takes the credit of a frame that has arrived; none is left for a peer that
    /// sends more than it may.
    pub(crate) fn spend(self: &Arc<Self>) -> Option<Credit> {
        self.granted
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, |granted| {
                granted.checked_sub(1)
            })
            .ok()
            .map(|_before| Credit(Arc::clone(self)))
    }

    /// Returns how many frames to grant now: a portion or more, or with
    /// `anything` whatever there is.
    pub(crate) fn grant(&self, anything: bool) -> Option<u32> {
        let least = if anything { 1 } else { self.portion };
        if self.returned.load(Ordering::Acquire) < least {
            return None;
        }
        let frames = self.returned.swap(0, Ordering::AcqRel);
        self.granted.fetch_add(frames, Ordering::AcqRel);
        Some(frames)
    }
}

impl Drop for Credit {
    fn drop(&mut self) {
        let returned = self.0.returned.fetch_add(1, Ordering::AcqRel) + 1;
        if returned >= self.0.portion {
            self.0.work.notify_one();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn account(window: u32) -> Arc<Account> {
        Account::new(window, Arc::default())
    }

    #[test]
    fn a_peer_has_no_credit_before_the_first_grant() {
        let account = account(8);

        assert!(account.spend().is_none());
        assert_eq!(account.grant(false), Some(8));
        assert!(account.spend().is_some());
    }

    #[test]
    fn a_peer_may_not_send_more_than_the_window() {
        let account = account(2);
        account.grant(false);
        let held = [account.spend().unwrap(), account.spend().unwrap()];

        assert!(account.spend().is_none());

        drop(held);
        assert_eq!(account.grant(false), Some(2));
    }

    #[test]
    fn credit_is_granted_again_in_portions() {
        let account = account(8);
        account.grant(false);

        drop(account.spend().unwrap());
        assert_eq!(account.grant(false), None, "one of eight is no portion");
        drop(account.spend().unwrap());

        assert_eq!(account.grant(false), Some(2));
    }

    #[test]
    fn less_than_a_portion_is_granted_on_demand() {
        let account = account(8);
        account.grant(false);

        drop(account.spend().unwrap());

        assert_eq!(account.grant(true), Some(1));
        assert_eq!(account.grant(true), None);
    }
}
