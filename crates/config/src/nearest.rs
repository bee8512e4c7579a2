//! Which name was probably meant.

use strsim::damerau_levenshtein;

use crate::key::Key;
use crate::settings::{KEYS, TABLES};

/// Names longer than this are compared, and shown, by their beginning.
const MOST_CHARACTERS: usize = 64;

/// Returns the table whose name is nearest.
pub(crate) fn table(name: &str) -> &'static str {
    let name = shown(name);
    TABLES
        .iter()
        .map(|table| table.name)
        .min_by_key(|known| damerau_levenshtein(known, &name))
        .unwrap_or_default()
}

/// Returns the setting whose path is nearest to `table.name`.
///
/// The name counts more than the table: a key in the wrong table is a likely slip.
pub(crate) fn key(table: &str, name: &str) -> &'static str {
    let (table, name) = (shown(table), shown(name));
    KEYS.iter()
        .min_by_key(|known| {
            2 * damerau_levenshtein(known.name, &name) + damerau_levenshtein(known.table, &table)
        })
        .map_or("", |known| known.path)
}

/// Returns the environment variable whose name is nearest.
pub(crate) fn variable(name: &str) -> String {
    let name = shown(name);
    KEYS.iter()
        .map(Key::variable)
        .min_by_key(|known| damerau_levenshtein(known, &name))
        .unwrap_or_default()
}

/// Returns the beginning of a name that may be of any length.
pub(crate) fn shown(name: &str) -> String {
    name.chars().take(MOST_CHARACTERS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelt_table_is_found() {
        assert_eq!(table("supervisr"), "supervisor");
    }

    #[test]
    fn a_misspelt_key_is_found_in_its_table() {
        assert_eq!(key("admin", "listne"), "admin.listen");
    }

    #[test]
    fn a_key_in_the_wrong_table_is_found_in_the_right_one() {
        assert_eq!(key("http", "address_scope"), "cancellation.address_scope");
    }

    #[test]
    fn a_key_without_a_table_is_found() {
        assert_eq!(key("", "max_body_byte"), "http.max_body_bytes");
    }

    #[test]
    fn a_misspelt_variable_is_found() {
        assert_eq!(variable("CONDUIT_HTTP_LISTNE"), "CONDUIT_HTTP_LISTEN");
    }

    #[test]
    fn a_name_of_any_length_is_compared_by_its_beginning() {
        let name = "x".repeat(1_000_000);

        assert_eq!(shown(&name).len(), MOST_CHARACTERS);
        assert!(!table(&name).is_empty());
    }
}
