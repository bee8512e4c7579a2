//! What `/proc` tells of processes: who belongs to whom, CPU time, memory.
//!
//! A tree of processes counts as one: a server of many processes is one server.

use std::collections::HashMap;
use std::fs;

use anyhow::Context as _;
use rustix::param::clock_ticks_per_second;
use rustix::process::{Pid, Signal, kill_process};

/// CPU time in seconds.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Cpu {
    /// In the programs themselves.
    pub(crate) user: f64,
    /// In the kernel on their behalf.
    pub(crate) system: f64,
}

/// The memory of one process.
#[derive(Clone, Debug)]
pub(crate) struct Memory {
    /// What the process is: its role, or its executable.
    pub(crate) role: String,
    /// Its share of what it has mapped, in KiB.
    pub(crate) pss: u64,
}

impl Cpu {
    /// Returns what a tree of processes has used so far. One that has ended is missed.
    pub(crate) fn of_tree(root: u32) -> Self {
        let mut user = 0;
        let mut system = 0;
        for stat in tree(root).into_iter().filter_map(stat_of) {
            user += stat.user;
            system += stat.system;
        }
        Self {
            user: seconds(user),
            system: seconds(system),
        }
    }

    /// Returns what this process has used so far.
    pub(crate) fn of_ours() -> Self {
        let stat = stat_of(std::process::id()).unwrap_or_default();
        Self {
            user: seconds(stat.user),
            system: seconds(stat.system),
        }
    }

    /// Returns what all programs together have used so far.
    pub(crate) fn of_machine() -> Self {
        let text = fs::read_to_string("/proc/stat").unwrap_or_default();
        let (user, system) = machine(&text).unwrap_or_default();
        Self {
            user: seconds(user),
            system: seconds(system),
        }
    }

    /// Returns what was used since an earlier reading.
    pub(crate) fn since(self, earlier: Self) -> Self {
        Self {
            user: (self.user - earlier.user).max(0.0),
            system: (self.system - earlier.system).max(0.0),
        }
    }

    /// Returns both kinds together.
    pub(crate) fn total(self) -> f64 {
        self.user + self.system
    }
}

/// Returns the memory of each process of a tree.
pub(crate) fn memory(root: u32) -> anyhow::Result<Vec<Memory>> {
    let mut found = Vec::new();
    for pid in tree(root) {
        let path = format!("/proc/{pid}/smaps_rollup");
        let text = fs::read_to_string(&path).with_context(|| format!("cannot read {path}"))?;
        let pss = pss(&text).with_context(|| format!("no Pss in {path}"))?;
        let role = role(pid);
        found.push(Memory { role, pss });
    }
    Ok(found)
}

/// Returns the nanoseconds of CPU time that the threads of a tree have used so far.
///
/// Finer than [`Cpu`]; a thread that has ended is missed.
pub(crate) fn nanoseconds(root: u32) -> u64 {
    let threads = |pid| fs::read_dir(format!("/proc/{pid}/task")).into_iter();
    let threads = tree(root).into_iter().flat_map(threads).flatten().flatten();
    threads
        .filter_map(|thread| {
            let text = fs::read_to_string(thread.path().join("schedstat")).ok()?;
            text.split_whitespace().next()?.parse::<u64>().ok()
        })
        .sum()
}

/// Returns the processes of a tree in slots that begin so, such as `gateway-`.
pub(crate) fn in_slots(root: u32, prefix: &str) -> Vec<u32> {
    let of = |pid: &u32| slot(*pid).is_some_and(|slot| slot.starts_with(prefix));
    tree(root).into_iter().filter(of).collect()
}

/// Returns how many descriptors a process has open.
pub(crate) fn descriptors(pid: u32) -> usize {
    fs::read_dir(format!("/proc/{pid}/fd")).map_or(0, Iterator::count)
}

/// Returns the memory that the kernel keeps for its own objects, in KiB: sockets too.
pub(crate) fn kernel_memory() -> u64 {
    let text = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let slab = text.lines().find_map(|line| line.strip_prefix("Slab:"));
    let slab = slab.and_then(|slab| slab.split_whitespace().next()?.parse().ok());
    slab.unwrap_or_default()
}

/// Kills a process.
pub(crate) fn kill(pid: u32) {
    signal(pid, Signal::KILL);
}

/// Asks a process to end.
pub(crate) fn terminate(pid: u32) {
    signal(pid, Signal::TERM);
}

/// Kills a tree of processes; its root is still to be waited for.
///
/// The root is stopped first, so that it replaces nobody.
pub(crate) fn kill_tree(root: u32) {
    signal(root, Signal::STOP);
    for pid in tree(root).into_iter().rev() {
        signal(pid, Signal::KILL);
    }
}

// === Behind the readings ===

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Stat {
    parent: u32,
    user: u64,
    system: u64,
}

/// Returns the process and all its descendants, parents before children.
fn tree(root: u32) -> Vec<u32> {
    let mut children: HashMap<u32, Vec<u32>> = HashMap::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let pid = entry
            .file_name()
            .to_str()
            .and_then(|name| name.parse().ok());
        if let Some((pid, stat)) = pid.and_then(|pid| Some((pid, stat_of(pid)?))) {
            children.entry(stat.parent).or_default().push(pid);
        }
    }
    let mut found = vec![root];
    let mut next = 0;
    while let Some(pid) = found.get(next) {
        // Taken out, so that nothing is found twice.
        found.extend(children.remove(pid).unwrap_or_default());
        next += 1;
    }
    found
}

fn stat_of(pid: u32) -> Option<Stat> {
    stat(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

/// Reads a line of `/proc/PID/stat`; the name in it may contain anything.
fn stat(line: &str) -> Option<Stat> {
    let (_, rest) = line.rsplit_once(')')?;
    let fields: Vec<&str> = rest.split_whitespace().collect();
    Some(Stat {
        parent: fields.get(1)?.parse().ok()?,
        user: fields.get(11)?.parse().ok()?,
        system: fields.get(12)?.parse().ok()?,
    })
}

/// Reads the first line of `/proc/stat`: user and nice, then all but idle and waiting.
fn machine(text: &str) -> Option<(u64, u64)> {
    let line = text.lines().next()?.strip_prefix("cpu ")?;
    let fields: Vec<u64> = line
        .split_whitespace()
        .map_while(|field| field.parse().ok())
        .collect();
    let [user, nice, system, _idle, _waiting, irq, softirq, steal, ..] = fields.as_slice() else {
        return None;
    };
    Some((user + nice, system + irq + softirq + steal))
}

fn pss(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("Pss:"))?;
    line.split_whitespace().next()?.parse().ok()
}

/// Returns the slot of one of our processes, else its first argument or its program.
fn role(pid: u32) -> String {
    slot(pid).unwrap_or_else(|| {
        let mut arguments = arguments(pid).into_iter();
        let program = arguments.next().unwrap_or_default();
        let role = arguments.next().filter(|role| !role.is_empty());
        role.unwrap_or(program)
    })
}

fn slot(pid: u32) -> Option<String> {
    let arguments = arguments(pid);
    let at = arguments.iter().position(|argument| argument == "--slot")?;
    arguments.get(at + 1).cloned()
}

fn arguments(pid: u32) -> Vec<String> {
    let raw = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let arguments = raw.split(|byte| *byte == 0);
    arguments
        .map(|argument| String::from_utf8_lossy(argument).into_owned())
        .collect()
}

fn seconds(ticks: u64) -> f64 {
    ticks as f64 / clock_ticks_per_second() as f64
}

fn signal(pid: u32, signal: Signal) {
    if let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
        // Who is gone need not be told.
        let _gone = kill_process(pid, signal);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_brackets_and_spaces_does_not_shift_the_fields() {
        let line = "42 (a) b (c) S 7 1 1 0 -1 4194560 9 0 0 0 120 34 0 0 20 0 5 0 99 1 1";
        let expected = Stat {
            parent: 7,
            user: 120,
            system: 34,
        };

        assert_eq!(stat(line), Some(expected));
        assert_eq!(stat("42 (a"), None);
    }

    #[test]
    fn an_idle_core_does_not_count_as_used() {
        let text = "cpu  1 2 30 9999 8888 4 50 60 7 7\ncpu0 1 1 1 1 1 1 1 1 1 1\n";

        assert_eq!(machine(text), Some((3, 144)));
        assert_eq!(machine("cpu  1 2"), None);
    }

    #[test]
    fn the_share_of_memory_is_read_and_not_one_of_its_parts() {
        let text =
            "00-ff ---p 0 00:00 0 [rollup]\nRss: 9 kB\nPss:             123 kB\nPss_Anon: 5 kB\n";

        assert_eq!(pss(text), Some(123));
    }

    #[test]
    fn we_are_in_our_own_tree() {
        let ours = std::process::id();
        let parent = stat_of(ours).expect("our own").parent;

        assert_eq!(tree(ours).first(), Some(&ours));
        assert!(tree(parent).contains(&ours));
    }
}
