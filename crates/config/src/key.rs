//! What is known about a setting besides its value, and the macro that declares
//! types, defaults and this knowledge in one go.

use toml_edit::Value;

use crate::settings::{KEYS, Settings};
use crate::word::{Bounds, Written, Wrong};

/// One setting.
#[derive(Debug)]
pub(crate) struct Key {
    /// The table it is in.
    pub(crate) table: &'static str,
    /// Its name inside the table.
    pub(crate) name: &'static str,
    /// Table and name with a dot between them, as messages write it.
    pub(crate) path: &'static str,
    /// Its documentation, a line each, with the space that follows `///`.
    pub(crate) docs: &'static [&'static str],
    /// The numbers that it may be.
    pub(crate) bounds: Bounds,
    /// Sets it.
    pub(crate) read: fn(&mut Settings, Written<'_>, Bounds) -> Result<(), Wrong>,
    /// Returns its value, as the file would write it.
    pub(crate) write: fn(&Settings) -> Value,
}

/// One table of the file.
#[derive(Debug)]
pub(crate) struct Table {
    /// Its name.
    pub(crate) name: &'static str,
    /// Its documentation, a line each, with the space that follows `///`.
    pub(crate) docs: &'static [&'static str],
}

impl Key {
    /// Finds the setting of this path, such as `http.listen`.
    pub(crate) fn find(path: &str) -> Option<&'static Self> {
        KEYS.iter().find(|key| key.path == path)
    }

    /// Returns the environment variable that sets it, such as
    /// `CONDUIT_HTTP_LISTEN`.
    pub(crate) fn variable(&self) -> String {
        format!("CONDUIT_{}_{}", self.table, self.name).to_ascii_uppercase()
    }
}

/// Declares the tables of the file: a struct each with its `Default`, `Settings`
/// with all of them, and the lists `TABLES` and `KEYS`.
///
/// A key is written `name: Type = default;`, or `name: Type = default, 1..=9;`
/// where only some numbers are possible.
macro_rules! tables {
    ($(
        $(#[doc = $table_doc:literal])+
        $table:ident: $Table:ident {
            $(
                $(#[doc = $doc:literal])+
                $name:ident: $Type:ty = $default:expr $(, $least:literal ..= $most:literal)?;
            )+
        }
    )+) => {
        $(
            $(#[doc = $table_doc])+
            #[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
            #[serde(deny_unknown_fields)]
            pub struct $Table {
                $(
                    $(#[doc = $doc])+
                    pub $name: $Type,
                )+
            }

            impl Default for $Table {
                fn default() -> Self {
                    Self {
                        $($name: $default,)+
                    }
                }
            }
        )+

        /// Every setting. A field is a table of the file.
        ///
        /// [`load`](fn@crate::load) makes values that keep the documented bounds. The
        /// supervisor hands them to its children as JSON, with `serde`.
        #[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
        #[serde(deny_unknown_fields)]
        pub struct Settings {
            $(
                $(#[doc = $table_doc])+
                pub $table: $Table,
            )+
        }

        /// The tables, in the order of the file.
        pub(crate) static TABLES: &[$crate::key::Table] = &[
            $($crate::key::Table {
                name: stringify!($table),
                docs: &[$($table_doc),+],
            },)+
        ];

        /// The settings, in the order of the file.
        pub(crate) static KEYS: &[$crate::key::Key] = &[
            $($($crate::key::Key {
                table: stringify!($table),
                name: stringify!($name),
                path: concat!(stringify!($table), ".", stringify!($name)),
                docs: &[$($doc),+],
                bounds: $crate::key::tables!(@bounds $($least $most)?),
                read: |settings, written, bounds| {
                    settings.$table.$name = $crate::word::Word::read(written, bounds)?;
                    Ok(())
                },
                write: |settings| $crate::word::Word::write(&settings.$table.$name),
            },)+)+
        ];
    };
    (@bounds $least:literal $most:literal) => {
        $crate::word::Bounds { least: $least, most: $most }
    };
    (@bounds) => {
        $crate::word::Bounds::ANY
    };
}
pub(crate) use tables;

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn a_variable_is_the_path_in_capitals() {
        let key = Key::find("http.max_body_bytes").unwrap();

        assert_eq!(key.variable(), "CONDUIT_HTTP_MAX_BODY_BYTES");
    }

    #[test]
    fn no_two_settings_share_a_variable() {
        let variables: HashSet<_> = KEYS.iter().map(Key::variable).collect();

        assert_eq!(variables.len(), KEYS.len());
    }

    #[test]
    fn every_setting_says_since_when_it_exists() {
        for key in KEYS {
            let last = key.docs.last().unwrap();

            assert!(last.contains("Since 0."), "{}: {last}", key.path);
        }
    }

    #[test]
    fn every_default_keeps_its_own_bounds() {
        let defaults = Settings::default();
        for key in KEYS {
            let value = (key.write)(&defaults);
            let mut again = Settings::default();

            let outcome = (key.read)(&mut again, Written::Toml(&value), key.bounds);

            assert!(outcome.is_ok(), "{}: {outcome:?}", key.path);
            assert_eq!(again, defaults, "{}", key.path);
        }
    }
}
