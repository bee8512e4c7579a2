//! The keys that this process seals and opens with.
//!
//! A ring is a file that all processes of an instance read. The last key of the file
//! seals, the others still open what they sealed before. Whoever rotates the ring
//! puts another file in its place; running processes see that by its time, inode and
//! size, which they look at
//!
//! - before they seal or open, at most once a second, and
//! - when a token names a key that they do not know, at most ten times a second.
//!
//! A ring that cannot be read at that moment leaves the keys as they were. Between
//! two looks a token of a brand-new key may be refused, at most for a tenth of a
//! second, and only while other tokens name unknown keys too.

mod file;
mod keys;
#[cfg(test)]
mod tests;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use conduit_errors::{Coded, chain};
use parking_lot::{Mutex, RwLock};
use tokio::time::Instant;
use tracing::{error, info};

use self::file::Stamp;
pub use self::keys::KeyId;
use self::keys::{Key, Keys};
use crate::Error;

/// The most keys of a ring; of more, the oldest go.
pub const MOST_KEYS: usize = 16;

/// The keys of an instance, as of now. A clone is the same ring.
#[derive(Clone)]
pub struct KeyRing {
    shared: Arc<Shared>,
}

/// What a rotation did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rotated {
    /// The new key, which seals from now on.
    pub id: KeyId,
    /// The keys that are gone, oldest first.
    pub dropped: Vec<KeyId>,
}

impl KeyRing {
    /// Reads the ring at `path`. If there is none, one is made, with a key that nobody
    /// knows and with mode 0600; of several processes that do so at once, one wins, and
    /// all have its ring. The directory must be there.
    ///
    /// # Errors
    ///
    /// [`Error::Read`] and [`Error::Write`] when the operating system refuses;
    /// [`Error::Exposed`] when others may use the file; [`Error::TooLarge`],
    /// [`Error::Line`] and [`Error::Empty`] when it is no key ring.
    pub fn open(path: impl Into<PathBuf>) -> Result<Self, Error> {
        let path = path.into();
        if file::create_if_missing(&path, now())? {
            info!(path = %path.display(), "key ring made");
        }
        let (keys, stamp) = file::read(&path)?;
        Ok(Self::with(keys, Some(Watch::new(path, stamp))))
    }

    /// Makes a ring of one key that ends with the process.
    #[must_use]
    pub fn ephemeral() -> Self {
        Self::with(Keys::of(Key::random(now())), None)
    }

    /// Adds a key, which seals from now on, and drops those that were superseded longer
    /// than `keep` ago. Where `keep` is the lifetime of a token, no token is lost.
    ///
    /// Rotations at once happen one after the other. Open rings follow by themselves.
    ///
    /// # Errors
    ///
    /// As [`Self::open`], and [`Error::Read`] when there is no ring. The ring is as it
    /// was then.
    pub fn rotate(path: &Path, keep: Duration) -> Result<Rotated, Error> {
        file::rotate(path, now(), keep)
    }

    /// Returns the key to seal with.
    pub(crate) fn newest(&self) -> Arc<Key> {
        self.look_now_and_then();
        self.shared.keys.read().newest()
    }

    /// Returns the key of this id.
    pub(crate) fn find(&self, id: KeyId) -> Option<Arc<Key>> {
        self.look_now_and_then();
        let known = self.shared.keys.read().find(id);
        known.or_else(|| {
            let watch = self.shared.watch.as_ref()?;
            watch.for_an_unknown_key(&self.shared.keys);
            self.shared.keys.read().find(id)
        })
    }

    fn look_now_and_then(&self) {
        if let Some(watch) = &self.shared.watch {
            watch.now_and_then(&self.shared.keys);
        }
    }

    fn with(keys: Keys, watch: Option<Watch>) -> Self {
        Self {
            shared: Arc::new(Shared {
                keys: RwLock::new(keys),
                watch,
            }),
        }
    }
}

impl fmt::Debug for KeyRing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.shared.watch.as_ref().map(|watch| &watch.path);
        f.debug_struct("KeyRing")
            .field("path", &path)
            .field("keys", &self.shared.keys.read().ids())
            .finish()
    }
}

// === Behind the handle ===

/// How often the file is looked at while the keys are in use.
const PAUSE: Duration = Duration::from_secs(1);

/// How often the file is looked at for the sake of unknown keys, which anybody can
/// make up.
const UNKNOWN_PAUSE: Duration = Duration::from_millis(100);

struct Shared {
    keys: RwLock<Keys>,
    /// None: the ring has no file.
    watch: Option<Watch>,
}

/// Notices that the file has changed.
struct Watch {
    path: PathBuf,
    seen: Mutex<Seen>,
}

struct Seen {
    /// The file that the keys are from. None: the last look has failed.
    stamp: Option<Stamp>,
    looked: Instant,
    /// None: no key was unknown yet.
    unknown: Option<Instant>,
    /// Whether the log has the failure.
    in_trouble: bool,
}

impl Watch {
    fn new(path: PathBuf, stamp: Stamp) -> Self {
        Self {
            path,
            seen: Mutex::new(Seen {
                stamp: Some(stamp),
                looked: Instant::now(),
                unknown: None,
                in_trouble: false,
            }),
        }
    }

    /// Whoever comes while another one looks goes on with the keys that there are.
    fn now_and_then(&self, keys: &RwLock<Keys>) {
        let Some(mut seen) = self.seen.try_lock() else {
            return;
        };
        let now = Instant::now();
        if now.duration_since(seen.looked) >= PAUSE {
            seen.looked = now;
            self.look(&mut seen, keys);
        }
    }

    /// Whoever comes while another one looks waits for what that one finds.
    fn for_an_unknown_key(&self, keys: &RwLock<Keys>) {
        let mut seen = self.seen.lock();
        let now = Instant::now();
        let due = |last| now.duration_since(last) >= UNKNOWN_PAUSE;
        if seen.unknown.is_none_or(due) {
            seen.unknown = Some(now);
            self.look(&mut seen, keys);
        }
    }

    fn look(&self, seen: &mut Seen, keys: &RwLock<Keys>) {
        let unchanged = seen.stamp.is_some() && Stamp::of(&self.path).ok() == seen.stamp;
        if unchanged {
            return;
        }
        match file::read(&self.path) {
            Ok((found, stamp)) => {
                info!(path = %self.path.display(), newest = %found.newest().id, "key ring read again");
                *keys.write() = found;
                seen.stamp = Some(stamp);
                seen.in_trouble = false;
            }
            Err(error) => {
                if !seen.in_trouble {
                    let (code, error) = (error.code(), chain(&error));
                    error!(%code, %error, "key ring not read again, the known keys stay");
                }
                seen.stamp = None;
                seen.in_trouble = true;
            }
        }
    }
}

/// Returns the seconds since 1970. A clock that stands before counts as 1970.
fn now() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.unwrap_or_default().as_secs()
}
