//! A code is for ever, and has a page that helps.

use std::collections::BTreeSet;

use conduit_errors::Code;

use crate::repository::{assert_none, files, read};

const SECTIONS: &[&str] = &["Meaning", "Cause", "What to do"];

#[test]
fn codes_are_unique() {
    let mut seen = BTreeSet::new();

    let offenders: Vec<_> = Code::all()
        .iter()
        .map(|code| code.name().to_owned())
        .filter(|name| !seen.insert(name.clone()))
        .collect();

    assert_none("Codes that two errors share:", &offenders);
}

#[test]
fn every_code_has_a_page_with_its_three_sections() {
    let mut offenders = Vec::new();

    for code in Code::all() {
        let path = format!("crates/errors/codes/{code}.md");
        if !files("md").contains(&path) {
            offenders.push(format!("{path} is missing"));
            continue;
        }
        let page = read(&path);
        for section in SECTIONS {
            if !page.lines().any(|line| line == format!("## {section}")) {
                offenders.push(format!("{path}: no section `{section}`"));
            }
        }
    }

    assert_none("Pages of codes:", &offenders);
}

#[test]
fn every_page_belongs_to_a_code() {
    let offenders: Vec<_> = files("md")
        .into_iter()
        .filter(|path| {
            let name = path.strip_prefix("crates/errors/codes/");
            let name = name.and_then(|name| name.strip_suffix(".md"));
            name.is_some_and(|name| Code::find(name).is_none())
        })
        .collect();

    assert_none("Pages without a code:", &offenders);
}

/// Keeps a code from being taken away, or given away, in passing.
#[test]
fn the_committed_list_of_codes_is_the_list_of_codes() {
    let listed = read("tests/tidy/error_codes.txt");
    let listed: BTreeSet<&str> = listed.lines().collect();
    let declared: BTreeSet<&str> = Code::all().iter().map(|code| code.name()).collect();

    let gone = listed.difference(&declared);
    let new = declared.difference(&listed);
    let offenders: Vec<_> = gone
        .map(|code| format!("{code} must not go: somebody searches for it"))
        .chain(new.map(|code| format!("{code} is new: add it to the list")))
        .collect();

    assert_none("tests/tidy/error_codes.txt:", &offenders);
}
