//! All sources together, in their order.

#[cfg(test)]
mod tests;

use std::env;
use std::ffi::OsString;
use std::io;
use std::path::PathBuf;

use conduit_errors::{Code, Coded};

use crate::key::Key;
use crate::origin::Place;
use crate::word::{Written, Wrong};
use crate::{Origin, Origins, Settings, check, environment, file, nearest, state_dir};

/// What there is to read.
#[derive(Clone, Debug, Default)]
pub struct Sources {
    /// The configuration file; without one, the variable `CONDUIT_CONFIG` may name it.
    pub file: Option<PathBuf>,
    /// The environment variables, all of them.
    pub environment: Vec<(OsString, OsString)>,
    /// The settings of the command line; a later one wins.
    pub flags: Vec<Flag>,
}

/// A setting that an option of the command line makes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flag {
    /// The option, with its dashes, for messages.
    pub option: &'static str,
    /// The path of the setting, such as `http.listen`.
    pub path: String,
    /// The value, written as in an environment variable.
    pub text: String,
}

/// All settings, and where each comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loaded {
    /// Every setting, within its bounds. `state.dir` is absolute, whoever set it.
    pub settings: Settings,
    /// Where each comes from.
    pub origins: Origins,
}

/// What is wrong with the configuration. No message repeats a value.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The file cannot be read.
    #[error("cannot read the configuration file `{path}`")]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
    /// The file is larger than a configuration can be.
    #[error("the configuration file `{path}` is larger than {limit_bytes} bytes")]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// The most bytes that are read.
        limit_bytes: u64,
    },
    /// The file is not UTF-8.
    #[error("{0}: the configuration file is not UTF-8 text")]
    NotText(Place),
    /// The file is not TOML.
    #[error("{place}: {problem}")]
    Syntax {
        /// Where.
        place: Place,
        /// What the parser expected there.
        problem: String,
    },
    /// There is no such table.
    #[error("{place}: unknown table `{name}`; the nearest one is `{nearest}`")]
    UnknownTable {
        /// Where it was written.
        place: Place,
        /// The table, as it was written.
        name: String,
        /// The table that was probably meant.
        nearest: &'static str,
    },
    /// There is no such setting.
    #[error("{origin}: unknown key `{path}`; the nearest one is `{nearest}`")]
    UnknownKey {
        /// Where it was written.
        origin: Origin,
        /// Its path, as it was written.
        path: String,
        /// The path that was probably meant.
        nearest: &'static str,
    },
    /// There is no such setting in the environment.
    #[error("unknown environment variable `{name}`; the nearest one is `{nearest}`")]
    UnknownVariable {
        /// The variable.
        name: String,
        /// The variable that was probably meant.
        nearest: String,
    },
    /// A value has the wrong type, or is not possible.
    #[error("{origin}: `{path}` must be {expected}")]
    Value {
        /// Where it was written.
        origin: Origin,
        /// The setting.
        path: &'static str,
        /// What the value must be.
        expected: String,
    },
    /// Two settings do not go together.
    #[error("`{path}` ({origin}) must {relation} `{other}` ({other_origin})")]
    Conflict {
        /// One setting.
        path: &'static str,
        /// Where it comes from.
        origin: Origin,
        /// What holds between the two.
        relation: &'static str,
        /// The other setting.
        other: &'static str,
        /// Where that one comes from.
        other_origin: Origin,
    },
    /// Nothing says where the state directory is.
    #[error(
        "cannot choose a state directory: neither `state.dir` nor the environment variable \
         `XDG_STATE_HOME` or `HOME` is set to an absolute path"
    )]
    NoStateDir,
    /// The state directory cannot be made absolute.
    #[error("cannot find the working directory, from which `state.dir` starts")]
    NoWorkingDir {
        /// What the operating system said.
        source: io::Error,
    },
}

/// Reads defaults, file, environment and command line; a later one wins.
///
/// # Errors
///
/// The first thing that is wrong, always the operator's to repair.
pub fn load(sources: &Sources) -> Result<Loaded, Error> {
    let mut loaded = Loaded {
        settings: Settings::default(),
        origins: Origins::default(),
    };
    let variables = environment::Variables::of(&sources.environment)?;
    let path = sources.file.clone().or_else(|| variables.file());
    if let Some(path) = path {
        file::apply(&path, &mut loaded)?;
    }
    variables.apply(&mut loaded)?;
    for flag in &sources.flags {
        flag.apply(&mut loaded)?;
    }
    state_dir::resolve(&sources.environment, &mut loaded)?;
    check::together(&loaded)?;
    Ok(loaded)
}

impl Sources {
    /// The environment of this process, and no file or flag.
    #[must_use]
    pub fn from_process() -> Self {
        Self {
            environment: env::vars_os().collect(),
            ..Self::default()
        }
    }
}

impl Loaded {
    /// Sets one setting, and remembers who did.
    pub(crate) fn set(
        &mut self,
        key: &'static Key,
        written: Written<'_>,
        origin: Origin,
    ) -> Result<(), Wrong> {
        (key.read)(&mut self.settings, written, key.bounds)?;
        self.origins.set(key.path, origin);
        Ok(())
    }

    /// Sets one setting from text that has no places of its own.
    pub(crate) fn set_text(
        &mut self,
        key: &'static Key,
        text: &str,
        origin: Origin,
    ) -> Result<(), Error> {
        self.set(key, Written::Text(text), origin.clone())
            .map_err(|wrong| Error::Value {
                origin,
                path: key.path,
                expected: wrong.expected,
            })
    }
}

impl Coded for Error {
    fn code(&self) -> Code {
        match self {
            Self::Unreadable { .. } | Self::TooLarge { .. } | Self::NotText(_) => {
                Code::CONFIG_UNREADABLE
            }
            // A slip in the command line itself.
            Self::UnknownKey { origin, .. } | Self::Value { origin, .. }
                if matches!(origin, Origin::Flag { .. }) =>
            {
                Code::USAGE
            }
            Self::Syntax { .. }
            | Self::UnknownTable { .. }
            | Self::UnknownKey { .. }
            | Self::UnknownVariable { .. }
            | Self::Value { .. }
            | Self::Conflict { .. } => Code::CONFIG_INVALID,
            Self::NoStateDir | Self::NoWorkingDir { .. } => Code::STATE_UNUSABLE,
        }
    }
}

// === Behind the handle ===

impl Flag {
    fn apply(&self, loaded: &mut Loaded) -> Result<(), Error> {
        let origin = Origin::Flag {
            option: self.option,
        };
        let Some(key) = Key::find(&self.path) else {
            let (table, name) = self.path.split_once('.').unwrap_or(("", &self.path));
            return Err(Error::UnknownKey {
                origin,
                path: nearest::shown(&self.path),
                nearest: nearest::key(table, name),
            });
        };
        loaded.set_text(key, &self.text, origin)
    }
}
