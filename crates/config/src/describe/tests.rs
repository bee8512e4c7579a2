use std::fs;
use std::path::PathBuf;

use super::*;
use crate::{Flag, Sources, load};

fn loaded_from(text: &str) -> Loaded {
    let file = tempfile::NamedTempFile::new().unwrap();
    fs::write(file.path(), text).unwrap();
    load(&Sources {
        file: Some(file.path().to_owned()),
        environment: vec![("HOME".into(), "/home/me".into())],
        flags: Vec::new(),
    })
    .unwrap()
}

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../config")
}

#[test]
fn the_file_of_defaults_says_what_is_built_in() {
    let path = folder().join("conduit.toml");
    #[expect(
        clippy::disallowed_methods,
        reason = "whoever runs the tests asks for it"
    )]
    if std::env::var_os("UPDATE").is_some() {
        fs::write(&path, defaults_file()).unwrap();
    }

    let text = fs::read_to_string(&path).unwrap();

    assert!(
        text == defaults_file(),
        "config/conduit.toml differs: run `UPDATE=1 cargo test -p conduit-config`"
    );
}

#[test]
fn the_file_of_defaults_changes_nothing() {
    let loaded = loaded_from(&defaults_file());

    assert_eq!(loaded.settings, loaded_from("").settings);
}

#[test]
fn the_file_of_defaults_names_every_setting() {
    let loaded = loaded_from(&defaults_file());

    for key in KEYS.iter().filter(|key| key.path != "state.dir") {
        assert_ne!(
            loaded.origins.of(key.path),
            crate::Origin::Default,
            "{}",
            key.path
        );
    }
}

#[test]
fn every_example_loads() {
    let mut seen = 0;
    for entry in fs::read_dir(folder().join("examples")).unwrap() {
        let text = fs::read_to_string(entry.unwrap().path()).unwrap();
        loaded_from(&text);
        seen += 1;
    }

    assert!(seen > 0, "there are no examples");
}

#[test]
fn a_description_loads_to_the_same_settings() {
    let loaded = loaded_from("[http]\nallowed_hosts = [\"a.example\"]\n[log]\nlevel = \"debug\"\n");

    let again = loaded_from(&describe(&loaded));

    assert_eq!(again.settings, loaded.settings);
}

#[test]
fn a_description_has_the_origin_behind_each_value() {
    let loaded = load(&Sources {
        file: None,
        environment: vec![
            ("HOME".into(), "/home/me".into()),
            ("CONDUIT_LOG_LEVEL".into(), "debug".into()),
        ],
        flags: vec![Flag {
            option: "--listen",
            path: "http.listen".to_owned(),
            text: "127.0.0.1:0".to_owned(),
        }],
    })
    .unwrap();

    let text = describe(&loaded);

    for line in [
        "listen = \"127.0.0.1:0\"  # option --listen\n",
        "level = \"debug\"  # environment CONDUIT_LOG_LEVEL\n",
        "dir = \"/home/me/.local/state/conduit\"  # environment HOME\n",
        "format = \"text\"  # default\n",
    ] {
        assert!(text.contains(line), "{text}");
    }
}
