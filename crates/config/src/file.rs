//! Settings from the file.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use toml_edit::{Document, Item, Value};

use crate::key::Key;
use crate::load::{Error, Loaded};
use crate::origin::Place;
use crate::settings::TABLES;
use crate::word::Written;
use crate::{Origin, nearest};

/// A configuration is not larger.
const MOST_BYTES: u64 = 1024 * 1024;

/// Reads the file and sets what it says, in its order.
pub(crate) fn apply(path: &Path, loaded: &mut Loaded) -> Result<(), Error> {
    let bytes = read(path).map_err(|source| Error::Unreadable {
        path: path.to_owned(),
        source,
    })?;
    if bytes.len() as u64 > MOST_BYTES {
        return Err(Error::TooLarge {
            path: path.to_owned(),
            limit_bytes: MOST_BYTES,
        });
    }
    let path = Arc::new(path.to_owned());
    let text = String::from_utf8(bytes).map_err(|error| {
        let good = error.utf8_error().valid_up_to();
        let text = String::from_utf8_lossy(error.as_bytes());
        Error::NotText(Place::of_byte(&path, &text, good))
    })?;
    Reader { path, text }.apply(loaded)
}

// === Behind the handle ===

fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?
        .take(MOST_BYTES + 1)
        .read_to_end(&mut bytes)?;
    Ok(bytes)
}

struct Reader {
    path: Arc<PathBuf>,
    text: String,
}

impl Reader {
    fn apply(&self, loaded: &mut Loaded) -> Result<(), Error> {
        let document = Document::parse(self.text.as_str()).map_err(|error| Error::Syntax {
            place: self.place(error.span().map(|span| span.start)),
            problem: error.message().to_owned(),
        })?;
        let root = document.as_table();
        for (name, item) in root {
            let at = root.key(name).and_then(|key| Some(key.span()?.start));
            self.table(name, item, at, loaded)?;
        }
        Ok(())
    }

    fn table(
        &self,
        name: &str,
        item: &Item,
        at: Option<usize>,
        loaded: &mut Loaded,
    ) -> Result<(), Error> {
        let entries = item.as_table_like();
        let Some(known) = TABLES.iter().find(|table| table.name == name) else {
            let place = self.place(at);
            return Err(if entries.is_some() || item.is_array_of_tables() {
                Error::UnknownTable {
                    place,
                    name: nearest::shown(name),
                    nearest: nearest::table(name),
                }
            } else {
                Error::UnknownKey {
                    origin: Origin::File(place),
                    path: nearest::shown(name),
                    nearest: nearest::key("", name),
                }
            });
        };
        let Some(entries) = entries else {
            return Err(Error::Value {
                origin: Origin::File(self.place(at)),
                path: known.name,
                expected: "a table".to_owned(),
            });
        };
        for (key, item) in entries.iter() {
            let at = entries.key(key).and_then(|key| Some(key.span()?.start));
            self.key(name, key, item, at, loaded)?;
        }
        Ok(())
    }

    fn key(
        &self,
        table: &str,
        name: &str,
        item: &Item,
        at: Option<usize>,
        loaded: &mut Loaded,
    ) -> Result<(), Error> {
        let path = format!("{table}.{name}");
        let origin = Origin::File(self.place(at));
        let Some(key) = Key::find(&path) else {
            return Err(Error::UnknownKey {
                origin,
                path: nearest::shown(&path),
                nearest: nearest::key(table, name),
            });
        };
        let value = item
            .clone()
            .into_value()
            .unwrap_or_else(|_none| Value::from(""));
        loaded
            .set(key, Written::Toml(&value), origin)
            .map_err(|wrong| {
                let span = wrong.span.or_else(|| item.span());
                Error::Value {
                    origin: Origin::File(self.place(span.map(|span| span.start).or(at))),
                    path: key.path,
                    expected: wrong.expected,
                }
            })
    }

    fn place(&self, byte: Option<usize>) -> Place {
        Place::of_byte(&self.path, &self.text, byte.unwrap_or_default())
    }
}
