//! A name says what is inside.

use crate::repository::{assert_none, files, read};

/// Names that say that nobody knew whose it is.
const EMPTY_WORDS: &[&str] = &[
    "utils", "util", "helpers", "helper", "common", "misc", "core", "types", "manager",
];

#[test]
fn no_module_has_a_name_that_says_nothing() {
    let mut offenders: Vec<String> = files("rs")
        .into_iter()
        .filter(|path| {
            let stem = path.strip_suffix(".rs").unwrap_or(path);
            stem.split('/').any(|part| EMPTY_WORDS.contains(&part))
        })
        .collect();
    offenders.extend(lines_where(|line| {
        let mut words = line
            .split_whitespace()
            .skip_while(|word| word.starts_with("pub"));
        let declares = words.next() == Some("mod");
        let name = words.next().unwrap_or_default().trim_end_matches(';');
        declares && EMPTY_WORDS.contains(&name)
    }));

    assert_none("Modules that need a name (style, 3.1):", &offenders);
}

#[test]
fn a_module_with_parts_is_a_file_beside_its_folder() {
    let offenders: Vec<_> = files("rs")
        .into_iter()
        .filter(|path| path.ends_with("/mod.rs"))
        .collect();

    assert_none("Call it `thing.rs`, beside `thing/`:", &offenders);
}

#[test]
fn the_name_of_a_test_is_a_sentence() {
    let prefix = concat!("fn ", "test_");
    let offenders = lines_where(|line| {
        line.trim_start()
            .trim_start_matches("async ")
            .starts_with(prefix)
    });

    assert_none("Say what must be true instead (style, 3.8):", &offenders);
}

fn lines_where(matches: impl Fn(&str) -> bool) -> Vec<String> {
    let mut found = Vec::new();
    for path in files("rs") {
        for (index, line) in read(&path).lines().enumerate() {
            if matches(line) {
                found.push(format!("{path}:{}: {}", index + 1, line.trim()));
            }
        }
    }
    found
}
