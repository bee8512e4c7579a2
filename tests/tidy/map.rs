//! `crates/README.md` is the map: it shows what there is, and nothing else.
//!
//! A crate's paragraph is an item of a list that begins with its name: - `http`: …

use std::collections::BTreeSet;

use crate::repository::{assert_none, crates, read};

/// The map is read as a whole, or not at all.
const LONGEST: usize = 200;

#[test]
fn every_crate_has_a_paragraph_and_no_paragraph_lacks_its_crate() {
    let page = read("crates/README.md");
    let described: BTreeSet<String> = page.lines().filter_map(described).collect();
    let present: BTreeSet<String> = crates().into_iter().collect();

    let missing = present.difference(&described);
    let gone = described.difference(&present);
    let offenders: Vec<_> = missing
        .map(|name| format!("{name} has no paragraph that begins with - `{name}`:"))
        .chain(gone.map(|name| format!("{name} is no crate")))
        .collect();

    assert_none("crates/README.md:", &offenders);
}

#[test]
fn the_map_is_short_enough_to_be_read() {
    let lines = read("crates/README.md").lines().count();

    assert!(lines < LONGEST, "crates/README.md has {lines} lines");
}

/// Returns the crate that a line's paragraph is about.
fn described(line: &str) -> Option<String> {
    let (name, _) = line.strip_prefix("- `")?.split_once("`:")?;
    Some(name.to_owned())
}
