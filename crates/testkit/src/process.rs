//! What the operating system knows of processes: `/proc` and signals.

use std::fs;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{
    Pid, PidfdFlags, Resource, Rlimit, getrlimit, kill_process, pidfd_open, setrlimit,
};

pub use rustix::process::Signal;

use crate::wait_until;

/// Returns the processes that bear `mark` in their arguments or environment.
///
/// Every tree is started with a mark of its own, which children inherit, so that
/// they are found whoever their parent is by now. The dead are not among them.
#[must_use]
pub fn bearing(mark: &str) -> Vec<u32> {
    let mut found: Vec<u32> = fs::read_dir("/proc")
        .expect("/proc is readable")
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter(|pid| bears(*pid, mark) && !is_over(*pid))
        .collect();
    found.sort_unstable();
    found
}

/// Returns the arguments of a process, joined by spaces; empty once it is gone.
#[must_use]
pub fn command_line(pid: u32) -> String {
    let raw = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&raw)
        .replace('\0', " ")
        .trim_end()
        .to_owned()
}

/// Returns whether a process has ended, reaped or not.
#[must_use]
pub fn is_over(pid: u32) -> bool {
    matches!(state(pid), None | Some('Z' | 'X'))
}

/// Returns the state letter of a process, such as `S` or `T`.
#[must_use]
pub fn state(pid: u32) -> Option<char> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, after_name) = stat.rsplit_once(") ")?;
    after_name.chars().next()
}

/// Returns the proportional share of memory of a process, in bytes.
#[must_use]
pub fn memory(pid: u32) -> Option<u64> {
    let rollup = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).ok()?;
    let line = rollup.lines().find_map(|line| line.strip_prefix("Pss:"))?;
    let kibibytes: u64 = line.split_whitespace().next()?.parse().ok()?;
    Some(kibibytes * 1024)
}

/// Returns how many descriptors a process holds.
#[must_use]
pub fn descriptors(pid: u32) -> Option<usize> {
    Some(fs::read_dir(format!("/proc/{pid}/fd")).ok()?.count())
}

/// Sends a signal; a process that is gone does not mind.
pub fn signal(pid: u32, signal: Signal) {
    let Some(pid) = named(pid) else { return };
    match kill_process(pid, signal) {
        Ok(()) | Err(Errno::SRCH) => {}
        Err(problem) => panic!("sending {signal:?} to {pid:?}: {problem}"),
    }
}

/// Waits until a process has ended.
pub async fn end_of(pid: u32, within: Duration) {
    wait_until(&format!("process {pid} to end"), within, async || {
        is_over(pid).then_some(())
    })
    .await;
}

/// Kills a process and returns when it is gone, or after a few seconds.
pub fn kill_and_reap(pid: u32) {
    let Some(named) = named(pid) else { return };
    let Ok(handle) = pidfd_open(named, PidfdFlags::empty()) else {
        return;
    };
    signal(pid, Signal::KILL);
    let patience = Timespec {
        tv_sec: 5,
        tv_nsec: 0,
    };
    match poll(&mut [PollFd::new(&handle, PollFlags::IN)], Some(&patience)) {
        // Interrupted or not, whoever asked looks again.
        Ok(_) | Err(Errno::INTR) => {}
        Err(problem) => panic!("waiting for the end of {pid}: {problem}"),
    }
}

/// Lets this process, and so its children, hold as many descriptors as it may.
pub fn raise_descriptor_limit() {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    setrlimit(
        Resource::Nofile,
        Rlimit {
            current: maximum,
            maximum,
        },
    )
    .expect("a soft limit up to the hard one");
}

// === Behind the functions ===

fn named(pid: u32) -> Option<Pid> {
    i32::try_from(pid).ok().and_then(Pid::from_raw)
}

fn bears(pid: u32, mark: &str) -> bool {
    ["cmdline", "environ"].iter().any(|file| {
        let raw = fs::read(format!("/proc/{pid}/{file}")).unwrap_or_default();
        raw.windows(mark.len())
            .any(|window| window == mark.as_bytes())
    })
}
