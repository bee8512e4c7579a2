//! `tests/acceptance.md` has every acceptance test, and each test that it names exists.

use std::collections::BTreeSet;
use std::fs;

use crate::repository::{assert_none, read, root};

/// The numbers that there are; AT-131b comes on top.
const RANGES: &[(u16, u16)] = &[
    (1, 41),
    (50, 66),
    (80, 85),
    (100, 116),
    (130, 142),
    (160, 167),
    (180, 189),
    (200, 207),
    (220, 225),
];

#[test]
fn every_acceptance_test_is_mapped_once() {
    let ids: Vec<String> = rows().map(|row| row.id).collect();
    let mapped: BTreeSet<String> = ids.iter().cloned().collect();
    let expected: BTreeSet<String> = RANGES
        .iter()
        .flat_map(|(first, last)| *first..=*last)
        .map(|number| format!("AT-{number:03}"))
        .chain(["AT-131b".to_owned()])
        .collect();

    let mut offenders: Vec<_> = expected
        .difference(&mapped)
        .map(|id| format!("{id} is missing"))
        .collect();
    offenders.extend(
        mapped
            .difference(&expected)
            .map(|id| format!("{id} does not exist")),
    );
    if mapped.len() < ids.len() {
        offenders.push("an id has two rows".to_owned());
    }

    assert_none("tests/acceptance.md:", &offenders);
}

#[test]
fn every_mapped_test_exists() {
    let offenders: Vec<_> = rows()
        .flat_map(|row| row.tests)
        .filter(|test| !exists(test))
        .collect();

    assert_none("tests/acceptance.md names tests that are gone:", &offenders);
}

#[test]
fn a_row_without_a_test_says_why() {
    let offenders: Vec<_> = rows()
        .filter(|row| row.tests.is_empty() && row.note.is_empty())
        .map(|row| row.id)
        .collect();

    assert_none("tests/acceptance.md:", &offenders);
}

#[test]
fn every_acceptance_test_in_the_suite_is_on_the_map() {
    let mapped: BTreeSet<String> = rows().flat_map(|row| row.tests).collect();
    let mut offenders = Vec::new();

    for path in crate::repository::files("rs") {
        let Some(module) = path.strip_prefix("tests/acceptance/") else {
            continue;
        };
        let module = module.trim_end_matches(".rs");
        for name in read(&path).lines().filter_map(numbered) {
            let test = format!("acceptance::{module}::{name}");
            if !mapped.contains(&test) {
                offenders.push(test);
            }
        }
    }

    assert_none("Tests that tests/acceptance.md does not name:", &offenders);
}

struct Row {
    id: String,
    tests: Vec<String>,
    note: String,
}

fn rows() -> impl Iterator<Item = Row> {
    let page = read("tests/acceptance.md");
    let rows: Vec<Row> = page.lines().filter_map(row).collect();
    rows.into_iter()
}

/// Reads a line such as `| AT-001 | acceptance::era::… | R1 |`.
fn row(line: &str) -> Option<Row> {
    let cells = line.strip_prefix("| ")?.strip_suffix(" |")?;
    let [id, tests, note] = cells.split(" | ").collect::<Vec<_>>().try_into().ok()?;
    if !id.starts_with("AT-") {
        return None;
    }
    let tests = tests.split('`').filter(|text| text.contains("::"));
    Some(Row {
        id: id.to_owned(),
        tests: tests.map(str::to_owned).collect(),
        note: note.trim().to_owned(),
    })
}

/// Whether there is a function of that name where its path says.
fn exists(test: &str) -> bool {
    let parts: Vec<&str> = test.split("::").collect();
    let [suite, modules @ .., name] = parts.as_slice() else {
        return false;
    };
    let folder = match suite.strip_prefix("conduit_") {
        Some(name) => format!("crates/{name}/src"),
        None if *suite == "conduit" => "crates/conduit/src".to_owned(),
        None => format!("tests/{suite}"),
    };
    // The last module may be inside of the file of the one before it.
    let inner = modules.split_last().map_or(modules, |(_, outer)| outer);
    [modules, inner].into_iter().any(|modules| {
        let file = format!("{folder}/{}.rs", modules.join("/"));
        let text = fs::read_to_string(root().join(file)).unwrap_or_default();
        text.contains(&format!("fn {name}("))
    })
}

/// The name of an acceptance test, where a line begins one.
fn numbered(line: &str) -> Option<&str> {
    let line = line.trim_start().trim_start_matches("async ");
    let name = line.strip_prefix("fn ")?.strip_suffix("() {")?;
    name.starts_with("at_").then_some(name)
}
