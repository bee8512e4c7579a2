//! What has become of calls, where all gateways can see it: files in a folder of the
//! supervisor that started them, in the temporary folder of the machine.

use std::os::unix::process::parent_id;
use std::path::PathBuf;
use std::{env, fs, io};

use conduit::schemars::JsonSchema;
use conduit::serde::Serialize;

/// What has become of the calls with one tag.
#[derive(Debug)]
pub(super) struct Record {
    folder: PathBuf,
}

/// What has been seen of the calls with one tag.
#[derive(Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(crate = "conduit::serde")]
#[schemars(crate = "conduit::schemars")]
pub(super) struct Seen {
    started: bool,
    cancelled: bool,
    completed: bool,
}

/// A call that runs. Dropping it records that it was cancelled, whoever dropped it.
#[derive(Debug)]
pub(super) struct Running(Option<Record>);

impl Record {
    pub(super) fn of(tag: &str) -> Self {
        let tag: String = tag.bytes().map(|byte| format!("{byte:02x}")).collect();
        Self {
            folder: env::temp_dir().join(house(parent_id())).join(tag),
        }
    }

    pub(super) fn seen(&self) -> Seen {
        let is_there = |mark| self.folder.join(mark).exists();
        Seen {
            started: is_there("started"),
            cancelled: is_there("cancelled"),
            completed: is_there("completed"),
        }
    }

    fn mark(&self, mark: &str) -> io::Result<()> {
        fs::create_dir_all(&self.folder)?;
        fs::write(self.folder.join(mark), "")
    }
}

impl Running {
    pub(super) fn start(record: Record) -> io::Result<Self> {
        record.mark("started")?;
        Ok(Self(Some(record)))
    }

    pub(super) fn complete(mut self) -> io::Result<()> {
        match self.0.take() {
            Some(record) => record.mark("completed"),
            None => Ok(()),
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(record) = self.0.take() {
            // Nobody is left who could hear of a full disk.
            drop(record.mark("cancelled"));
        }
    }
}

/// Names a process as no later one is named: by its id, and by when it was started.
fn house(process: u32) -> String {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    let behind_name = stat.rsplit(')').next().unwrap_or_default();
    let started = behind_name.split_whitespace().nth(19).unwrap_or("0");
    format!("conduit-tour-{process}-{started}")
}

#[cfg(test)]
mod tests {
    use std::process;

    use super::*;

    fn record(name: &str) -> Record {
        let folder = format!("conduit-tour-test-{}-{name}", process::id());
        Record {
            folder: env::temp_dir().join(folder),
        }
    }

    fn seen(record: &Record) -> [bool; 3] {
        let Seen {
            started,
            cancelled,
            completed,
        } = record.seen();
        [started, cancelled, completed]
    }

    #[test]
    fn a_call_is_recorded_from_its_start_to_its_end() {
        let of = || record("ends");
        assert_eq!(seen(&of()), [false; 3]);

        let running = Running::start(of()).expect("a mark");
        assert_eq!(seen(&of()), [true, false, false]);
        running.complete().expect("a mark");

        assert_eq!(seen(&of()), [true, false, true]);
        fs::remove_dir_all(of().folder).expect("a folder");
    }

    #[test]
    fn a_call_that_is_dropped_was_cancelled() {
        let of = || record("dropped");

        drop(Running::start(of()).expect("a mark"));

        assert_eq!(seen(&of()), [true, true, false]);
        fs::remove_dir_all(of().folder).expect("a folder");
    }

    #[test]
    fn a_process_has_one_name_and_two_have_two() {
        assert_eq!(house(process::id()), house(process::id()));
        assert_ne!(house(process::id()), house(parent_id()));
        assert!(!house(process::id()).ends_with("-0"));
    }
}
