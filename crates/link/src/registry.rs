//! Which lines a process has.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::Slot;
use crate::line::Line;
use crate::view::{Counters, PeerView};

/// The most slots that may ever connect to us.
const SLOTS: usize = 1024;

#[derive(Debug, Default)]
pub(crate) struct Registry {
    lines: Mutex<Lines>,
}

#[derive(Debug, Default)]
struct Lines {
    /// Those that we opened and did not close.
    opened: Vec<Arc<Line>>,
    /// The last that each slot opened to us.
    accepted: BTreeMap<Slot, Arc<Line>>,
}

/// A line that was accepted, and the one that it replaces.
#[derive(Debug)]
pub(crate) struct Accepted {
    pub(crate) line: Arc<Line>,
    pub(crate) former: Option<Arc<Line>>,
}

impl Registry {
    /// Remembers a line that we open.
    pub(crate) fn open(&self, line: Arc<Line>) {
        self.lines.lock().opened.push(line);
    }

    /// Forgets a line that we have closed.
    pub(crate) fn forget(&self, line: &Arc<Line>) {
        let mut lines = self.lines.lock();
        lines.opened.retain(|opened| !Arc::ptr_eq(opened, line));
    }

    /// Makes a line for a peer that has connected, unless there are too many. It
    /// goes on counting where the slot's last line ended.
    pub(crate) fn accept(&self, peer: &Slot, max_frame: usize) -> Option<Accepted> {
        let mut lines = self.lines.lock();
        let former = lines.accepted.get(peer).map(Arc::clone);
        if former.is_none() && lines.accepted.len() >= SLOTS {
            return None;
        }
        let counters = match &former {
            Some(former) => Arc::clone(&former.counters),
            None => Arc::new(Counters::default()),
        };
        let line = Line::new(peer.clone(), max_frame, counters);
        lines.accepted.insert(peer.clone(), Arc::clone(&line));
        Some(Accepted { line, former })
    }

    /// Returns every line.
    pub(crate) fn lines(&self) -> Vec<Arc<Line>> {
        let lines = self.lines.lock();
        lines
            .opened
            .iter()
            .chain(lines.accepted.values())
            .map(Arc::clone)
            .collect()
    }

    /// Shows every line.
    pub(crate) fn view(&self) -> Vec<PeerView> {
        self.lines().iter().map(|line| line.view()).collect()
    }
}
