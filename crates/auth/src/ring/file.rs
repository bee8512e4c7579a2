//! The file of a ring: private, and never seen half written.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use rustix::fs::FlockOperation;
use uuid::Uuid;
use zeroize::Zeroizing;

use super::keys::{Key, Keys, Unreadable};
use super::{MOST_KEYS, Rotated};
use crate::Error;

/// Nobody but the user that we run as reads the file.
const MODE: u32 = 0o600;

/// What others than the owner may do.
const OTHERS: u32 = 0o077;

/// Room for all keys, and for what people write beside them.
const LIMIT: usize = MOST_KEYS * 1_024;

/// Tells one state of the file from another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stamp {
    modified: SystemTime,
    inode: u64,
    bytes: u64,
}

impl Stamp {
    /// Asks for the present one.
    pub(super) fn of(path: &Path) -> io::Result<Self> {
        Self::from_metadata(&fs::metadata(path)?)
    }

    fn from_metadata(found: &Metadata) -> io::Result<Self> {
        Ok(Self {
            modified: found.modified()?,
            inode: found.ino(),
            bytes: found.len(),
        })
    }
}

/// Reads the ring. The stamp is not younger than what was read.
pub(super) fn read(path: &Path) -> Result<(Keys, Stamp), Error> {
    let file = File::open(path).map_err(|source| unread(path, source))?;
    read_open(path, &file)
}

/// Makes a ring of one key, unless there is one; returns whether it did.
pub(super) fn create_if_missing(path: &Path, now: u64) -> Result<bool, Error> {
    if path.try_exists().map_err(|source| unread(path, source))? {
        return Ok(false);
    }
    let draft = beside(path, &Uuid::new_v4().to_string());
    let outcome = write(&draft, &Keys::of(Key::random(now))).and_then(|()| {
        // Unlike a rename, a link never takes the place of a file.
        match fs::hard_link(&draft, path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
            linked => linked.map(|()| true),
        }
    });
    let removed = remove(&draft);
    let made = outcome.and_then(|made| removed.map(|()| made));
    let made = made.map_err(|source| unwritten(path, source))?;
    sync_directory(path).map_err(|source| unwritten(path, source))?;
    Ok(made)
}

/// Puts a ring with one more key in the place of the file.
pub(super) fn rotate(path: &Path, now: u64, keep: Duration) -> Result<Rotated, Error> {
    let locked = lock(path).map_err(|source| unread(path, source))?;
    let (mut keys, _) = read_open(path, &locked)?;
    let rotated = keys.rotate(now, keep);
    replace(path, &keys).map_err(|source| unwritten(path, source))?;
    Ok(rotated)
}

// === Behind the handle ===

fn unread(path: &Path, source: io::Error) -> Error {
    Error::Read {
        path: path.to_owned(),
        source,
    }
}

fn unwritten(path: &Path, source: io::Error) -> Error {
    Error::Write {
        path: path.to_owned(),
        source,
    }
}

fn read_open(path: &Path, file: &File) -> Result<(Keys, Stamp), Error> {
    let found = file.metadata().map_err(|source| unread(path, source))?;
    let stamp = Stamp::from_metadata(&found).map_err(|source| unread(path, source))?;
    if found.mode() & OTHERS != 0 {
        return Err(Error::Exposed {
            path: path.to_owned(),
            mode: found.mode() & 0o7777,
        });
    }
    // One byte more tells a file that is too large; grown by pieces, a text would
    // leave pieces behind.
    let most = u64::try_from(LIMIT).unwrap_or(u64::MAX);
    let mut text = Zeroizing::new(Vec::with_capacity(LIMIT + 64));
    file.take(most + 1)
        .read_to_end(&mut text)
        .map_err(|source| unread(path, source))?;
    if text.len() > LIMIT {
        return Err(Error::TooLarge {
            path: path.to_owned(),
            limit_bytes: most,
        });
    }
    let keys = Keys::from_text(&text).map_err(|unreadable| match unreadable {
        Unreadable::Line(line, flaw) => Error::Line {
            path: path.to_owned(),
            line,
            flaw,
        },
        Unreadable::Empty => Error::Empty {
            path: path.to_owned(),
        },
    })?;
    Ok((keys, stamp))
}

/// Opens the ring and waits until no other rotation holds it.
///
/// The lock is on the file, because that on the directory says whose instance it is.
/// Whoever got the lock of a file that was replaced meanwhile takes the next one.
fn lock(path: &Path) -> io::Result<File> {
    loop {
        let file = File::open(path)?;
        rustix::fs::flock(&file, FlockOperation::LockExclusive)?;
        let (ours, present) = (file.metadata()?, fs::metadata(path)?);
        if (ours.dev(), ours.ino()) == (present.dev(), present.ino()) {
            return Ok(file);
        }
    }
}

fn replace(path: &Path, keys: &Keys) -> io::Result<()> {
    let draft = beside(path, "new");
    // That of a rotation that was killed.
    remove(&draft)?;
    write(&draft, keys)?;
    fs::rename(&draft, path)?;
    sync_directory(path)
}

fn write(draft: &Path, keys: &Keys) -> io::Result<()> {
    let mut file = OpenOptions::new()
        .create_new(true)
        .write(true)
        .mode(MODE)
        .open(draft)?;
    file.write_all(keys.to_text().as_bytes())?;
    file.sync_all()
}

fn remove(draft: &Path) -> io::Result<()> {
    match fs::remove_file(draft) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".");
    name.push(ending);
    name.into()
}

fn sync_directory(path: &Path) -> io::Result<()> {
    let parent = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    File::open(parent)?.sync_all()
}
