//! Standard error, without ever waiting for whoever reads it.
//!
//! A write to a full pipe, or to a terminal that is held, blocks; on the loop of
//! a gateway that would be the end of all its streams. So each piece is written
//! only after the kernel said that there is room: a pipe that is writable takes
//! [`PIECE`] bytes at once.

use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::retry_on_intr;

/// The bytes that a writable pipe takes without blocking (`PIPE_BUF`).
const PIECE: usize = 4096;

/// Lines that found no room, in the whole process.
static LOST: AtomicU64 = AtomicU64::new(0);

/// Returns how many log lines were lost so far.
pub(crate) fn lost_lines() -> u64 {
    LOST.load(Ordering::Relaxed)
}

/// Writes whole lines to standard error, or loses them.
#[derive(Debug)]
pub(super) struct Stderr;

impl Write for Stderr {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        // The lock keeps the pieces of one line together.
        let stderr = io::stderr().lock();
        if !write_line(stderr.as_fd(), line) {
            LOST.fetch_add(1, Ordering::Relaxed);
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

// === Behind the writer ===

/// Writes a line piece by piece, and returns whether all of it was written.
fn write_line(fd: BorrowedFd<'_>, line: &[u8]) -> bool {
    let mut left = line;
    while !left.is_empty() {
        let piece = left.get(..PIECE).unwrap_or(left);
        if !has_room(fd) {
            return false;
        }
        match retry_on_intr(|| rustix::io::write(fd, piece)) {
            Ok(written) if written > 0 => left = left.get(written..).unwrap_or_default(),
            Ok(_) | Err(_) => return false,
        }
    }
    true
}

fn has_room(fd: BorrowedFd<'_>) -> bool {
    let mut asked = [PollFd::from_borrowed_fd(fd, PollFlags::OUT)];
    let now = Timespec::default();
    let answered = retry_on_intr(|| poll(&mut asked, Some(&now)));
    answered.is_ok() && asked.iter().all(|fd| fd.revents().contains(PollFlags::OUT))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_arrives_whole() {
        let (reader, writer) = rustix::pipe::pipe().expect("a pipe");
        let line = vec![b'x'; 3 * PIECE + 1];

        assert!(write_line(writer.as_fd(), &line));

        drop(writer);
        let mut heard = Vec::new();
        io::Read::read_to_end(&mut std::fs::File::from(reader), &mut heard).expect("the line");
        assert_eq!(heard, line);
    }

    #[test]
    fn a_pipe_that_nobody_empties_loses_lines_and_blocks_nobody() {
        let (_reader, writer) = rustix::pipe::pipe().expect("a pipe");
        let line = vec![b'x'; PIECE];
        let mut written = 0;

        while write_line(writer.as_fd(), &line) {
            written += 1;
        }

        assert!((1..10_000).contains(&written));
    }

    #[test]
    fn a_reader_that_left_costs_a_line_and_nothing_else() {
        let (reader, writer) = rustix::pipe::pipe().expect("a pipe");
        drop(reader);

        assert!(!write_line(writer.as_fd(), b"hello\n"));
    }
}
