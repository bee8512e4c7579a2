//! Settings from environment variables: `CONDUIT_HTTP_LISTEN` is `http.listen`.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use crate::key::Key;
use crate::load::{Error, Loaded};
use crate::settings::KEYS;
use crate::{Origin, nearest};

/// Every variable that begins like this must be a setting.
const PREFIX: &str = "CONDUIT_";

/// The variable that names the configuration file.
const FILE: &str = "CONDUIT_CONFIG";

/// The variables that mean us.
#[derive(Debug)]
pub(crate) struct Variables<'a> {
    file: Option<&'a OsStr>,
    /// In the order of the file.
    settings: Vec<(&'static Key, &'a OsStr)>,
}

impl<'a> Variables<'a> {
    /// Finds ours among all. One that is ours by its prefix only is an error, so that
    /// a misspelt one does not go unnoticed.
    pub(crate) fn of(all: &'a [(OsString, OsString)]) -> Result<Self, Error> {
        let known: Vec<_> = KEYS.iter().map(|key| (key.variable(), key)).collect();
        let mut unknown = None;
        let mut found = Self {
            file: None,
            settings: Vec::new(),
        };
        for (name, value) in all {
            let name = name.to_string_lossy();
            if name == FILE {
                found.file = Some(value);
            } else if let Some((_, key)) = known.iter().find(|(variable, _)| *variable == name) {
                found.settings.push((key, value));
            } else if name.starts_with(PREFIX) {
                let earlier = unknown.get_or_insert_with(|| name.clone());
                if name < *earlier {
                    *earlier = name;
                }
            }
        }
        if let Some(name) = unknown {
            return Err(Error::UnknownVariable {
                nearest: nearest::variable(&name),
                name: nearest::shown(&name),
            });
        }
        Ok(found)
    }

    /// Returns the configuration file; an empty variable names none.
    pub(crate) fn file(&self) -> Option<PathBuf> {
        self.file.filter(|path| !path.is_empty()).map(PathBuf::from)
    }

    /// Sets what they say.
    pub(crate) fn apply(&self, loaded: &mut Loaded) -> Result<(), Error> {
        for (key, value) in &self.settings {
            let origin = Origin::Environment {
                variable: key.variable(),
            };
            let Some(text) = value.to_str() else {
                return Err(Error::Value {
                    origin,
                    path: key.path,
                    expected: "UTF-8 text".to_owned(),
                });
            };
            loaded.set_text(key, text, origin)?;
        }
        Ok(())
    }
}
