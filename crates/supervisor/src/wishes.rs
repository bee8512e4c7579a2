//! How many processes an operator wished for (R40): kept in `scale.json` in the state
//! directory.
//!
//! ```json
//! {"hub":{"count":4,"configured":1}}
//! ```
//!
//! A wish holds while the setting says what it said when the wish was made. When it says
//! something else at a start, the configuration wins and the wish is dropped for good. A
//! file that cannot be understood costs its wishes and a warning, never the start.

#[cfg(test)]
mod tests;

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use conduit_link::Role;
use serde::{Deserialize, Serialize};
use tracing::{info, warn};

use crate::plan::{Configured, MOST_GATEWAYS, MOST_HUBS, Plan};

/// What is configured and what is wished for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Wishes {
    folder: PathBuf,
    gateways: Desired,
    hubs: Desired,
}

impl Wishes {
    /// Reads the wishes, and drops those that the configuration has overtaken.
    pub(crate) fn load(plan: &Plan) -> Self {
        let mut wishes = Self {
            folder: plan.state_dir.clone(),
            gateways: Desired::new(plan.gateways),
            hubs: Desired::new(plan.hubs),
        };
        let path = wishes.folder.join(FILE);
        let record = read(&path).unwrap_or_else(|error| {
            warn!(path = %path.display(), %error, "cannot read which counts were wished for, using the configured ones");
            Record::default()
        });
        let outdated = [
            wishes.gateways.take(Role::Gateway, record.gateway),
            wishes.hubs.take(Role::Hub, record.hub),
        ];
        if outdated.contains(&true)
            && let Err(error) = wishes.save()
        {
            warn!(path = %path.display(), %error, "cannot drop a wish, it may come back");
        }
        wishes
    }

    /// Returns how many processes of a kind there are to be.
    pub(crate) const fn count(&self, role: Role) -> u16 {
        match role {
            Role::Gateway => self.gateways.count(),
            Role::Hub => self.hubs.count(),
            Role::Store => 1,
            Role::Supervisor | Role::Operator => 0,
        }
    }

    /// Returns the same with another wish. There is none of kinds that nobody can scale.
    pub(crate) fn with(&self, role: Role, count: u16) -> Self {
        let mut wishes = self.clone();
        match role {
            Role::Gateway => wishes.gateways.wish(count),
            Role::Hub => wishes.hubs.wish(count),
            Role::Store | Role::Supervisor | Role::Operator => {}
        }
        wishes
    }

    /// Writes the wishes; once it has returned, they survive a loss of power.
    ///
    /// # Errors
    ///
    /// Fails when the disk does not take them; the former ones are kept then.
    pub(crate) fn save(&self) -> io::Result<()> {
        let record = Record {
            gateway: self.gateways.record(),
            hub: self.hubs.record(),
        };
        let mut text = serde_json::to_vec(&record)?;
        text.push(b'\n');
        let new = self.folder.join(NEW);
        let mut file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .custom_flags(i32::try_from(NO_LINK).unwrap_or(0))
            .open(&new)?;
        file.write_all(&text)?;
        file.sync_all()?;
        fs::rename(&new, self.folder.join(FILE))?;
        File::open(&self.folder)?.sync_all()
    }
}

// === Behind the wishes ===

const FILE: &str = "scale.json";
/// What becomes the file when it is complete.
const NEW: &str = "scale.json.new";
/// What is longer was not written by us.
const MOST_BYTES: u64 = 4096;
const NO_LINK: u32 = rustix::fs::OFlags::NOFOLLOW.bits();

/// How many processes of one kind there are to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Desired {
    configured: Configured,
    wish: Option<u16>,
}

/// The file.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Record {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    gateway: Option<Wish>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    hub: Option<Wish>,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Wish {
    count: u16,
    /// What the setting said when the wish was made.
    configured: u16,
}

impl Desired {
    const fn new(configured: Configured) -> Self {
        Self {
            configured,
            wish: None,
        }
    }

    const fn count(&self) -> u16 {
        match self.wish {
            Some(count) => count,
            None => self.configured.count,
        }
    }

    /// Takes a recorded wish over if it still holds; returns whether it does not.
    fn take(&mut self, role: Role, wish: Option<Wish>) -> bool {
        let Some(Wish { count, configured }) = wish else {
            return false;
        };
        let (role, setting) = (role.as_str(), self.configured.setting);
        if configured != setting {
            info!(
                role,
                wished = count,
                configured = setting,
                "configuration has changed, dropping what was wished for"
            );
            return true;
        }
        info!(
            role,
            wished = count,
            configured = self.configured.count,
            "a wish overrides the configuration until one of them is changed"
        );
        self.wish = Some(count);
        false
    }

    /// What is configured anyway needs no wish.
    fn wish(&mut self, count: u16) {
        self.wish = Some(count).filter(|count| *count != self.configured.setting);
    }

    fn record(&self) -> Option<Wish> {
        let configured = self.configured.setting;
        self.wish.map(|count| Wish { count, configured })
    }
}

fn read(path: &Path) -> io::Result<Record> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Record::default()),
        Err(error) => return Err(error),
    };
    let mut text = Vec::new();
    file.take(MOST_BYTES).read_to_end(&mut text)?;
    let record: Record = serde_json::from_slice(&text)?;
    let fits = |wish: Option<Wish>, most| wish.is_none_or(|wish| (1..=most).contains(&wish.count));
    if fits(record.gateway, MOST_GATEWAYS) && fits(record.hub, MOST_HUBS) {
        Ok(record)
    } else {
        Err(io::Error::other("a count is out of bounds"))
    }
}
