//! The files in `config/` are what the program makes of them.

use std::error::Error as _;

use conduit_config::{Sources, defaults_file, load};

use crate::repository::{assert_none, files, read, root};

#[test]
fn the_documented_file_is_the_built_in_defaults() {
    let written = read("config/conduit.toml");

    assert_eq!(
        written,
        defaults_file(),
        "config/conduit.toml is not what `defaults_file` prints"
    );
}

#[test]
fn the_documented_file_and_every_example_load() {
    let mut offenders = Vec::new();

    for path in files("toml")
        .into_iter()
        .filter(|path| path.starts_with("config/"))
    {
        let sources = Sources {
            file: Some(root().join(&path)),
            // Where the state goes, as long as a file does not say.
            environment: vec![("HOME".into(), "/home/somebody".into())],
            ..Sources::default()
        };
        if let Err(error) = load(&sources) {
            let cause = error.source().map(ToString::to_string).unwrap_or_default();
            offenders.push(format!("{path}: {error} {cause}"));
        }
    }

    assert_none("Files that do not load:", &offenders);
}

#[test]
fn there_are_examples() {
    let examples = files("toml")
        .into_iter()
        .filter(|path| path.starts_with("config/examples/"));

    assert!(examples.count() > 0, "config/examples is empty");
}
