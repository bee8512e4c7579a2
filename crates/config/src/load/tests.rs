use std::fs;

use conduit_errors::chain;
use proptest::prelude::*;
use tempfile::NamedTempFile;

use super::*;
use crate::settings::KEYS;

/// Loads a file with this text, named `conduit.toml` in messages.
fn load_file(text: impl AsRef<[u8]>) -> Result<Loaded, String> {
    load_all(Some(text.as_ref()), &[], &[])
}

fn load_all(
    text: Option<&[u8]>,
    environment: &[(&str, &str)],
    flags: &[(&'static str, &str, &str)],
) -> Result<Loaded, String> {
    let file = text.map(|text| {
        let file = NamedTempFile::new().unwrap();
        fs::write(file.path(), text).unwrap();
        file
    });
    let path = file.as_ref().map(|file| file.path().to_owned());
    let sources = Sources {
        file: path.clone(),
        environment: [("HOME", "/home/me")]
            .iter()
            .chain(environment)
            .map(|(name, value)| (name.into(), value.into()))
            .collect(),
        flags: flags
            .iter()
            .map(|(option, path, text)| Flag {
                option,
                path: (*path).to_owned(),
                text: (*text).to_owned(),
            })
            .collect(),
    };
    load(&sources).map_err(|error| {
        let message = chain(&error).to_string();
        match path {
            Some(path) => message.replace(path.to_str().unwrap(), "conduit.toml"),
            None => message,
        }
    })
}

#[track_caller]
fn refuses(text: impl AsRef<[u8]>, expected: &str) {
    assert_eq!(load_file(text).unwrap_err(), expected);
}

#[track_caller]
fn refuses_variable(name: &str, value: &str, expected: &str) {
    let outcome = load_all(None, &[(name, value)], &[]);

    assert_eq!(outcome.unwrap_err(), expected);
}

fn origin(loaded: &Loaded, path: &str) -> String {
    loaded.origins.of(path).to_string()
}

// Which source wins.

#[test]
fn without_sources_the_defaults_are_in_force() {
    let loaded = load_all(None, &[], &[]).unwrap();

    let mut expected = Settings::default();
    expected.state.dir = "/home/me/.local/state/conduit".into();
    assert_eq!(loaded.settings, expected);
}

#[test]
fn the_file_wins_over_the_default() {
    let loaded = load_file("[limits]\nin_flight = 7\n").unwrap();

    assert_eq!(loaded.settings.limits.in_flight.get(), 7);
}

#[test]
fn the_environment_wins_over_the_file() {
    let loaded = load_all(
        Some(b"[limits]\nin_flight = 7\n"),
        &[("CONDUIT_LIMITS_IN_FLIGHT", "8")],
        &[],
    )
    .unwrap();

    assert_eq!(loaded.settings.limits.in_flight.get(), 8);
}

#[test]
fn the_command_line_wins_over_the_environment() {
    let loaded = load_all(
        None,
        &[("CONDUIT_HTTP_LISTEN", "127.0.0.1:1")],
        &[("--listen", "http.listen", "127.0.0.1:2")],
    )
    .unwrap();

    assert_eq!(loaded.settings.http.listen.port(), 2);
}

#[test]
fn the_last_option_wins() {
    let loaded = load_all(
        None,
        &[],
        &[
            ("--listen", "http.listen", "127.0.0.1:1"),
            ("--set", "http.listen", "127.0.0.1:2"),
        ],
    )
    .unwrap();

    assert_eq!(loaded.settings.http.listen.port(), 2);
}

#[test]
fn a_file_leaves_what_it_does_not_name() {
    let loaded = load_file("[http]\nmax_connections = 5\n").unwrap();

    assert_eq!(loaded.settings.http.listen, Settings::default().http.listen);
}

#[test]
fn the_environment_may_name_the_file() {
    let file = NamedTempFile::new().unwrap();
    fs::write(file.path(), "[hub]\ncount = 3\n").unwrap();
    let path = file.path().to_str().unwrap();

    let loaded = load_all(None, &[("CONDUIT_CONFIG", path)], &[]).unwrap();

    assert_eq!(loaded.settings.hub.count.get(), 3);
}

#[test]
fn a_file_of_the_command_line_hides_that_of_the_environment() {
    let loaded = load_all(
        Some(b"[hub]\ncount = 2\n"),
        &[("CONDUIT_CONFIG", "/does/not/exist")],
        &[],
    )
    .unwrap();

    assert_eq!(loaded.settings.hub.count.get(), 2);
}

// Where a value comes from.

#[test]
fn an_origin_is_remembered_for_each_setting() {
    let sources: Option<&[u8]> = Some(b"[http]\n  max_connections = 5\n");
    let loaded = load_all(
        sources,
        &[("CONDUIT_HUB_COUNT", "2")],
        &[("--admin", "admin.listen", "127.0.0.1:0")],
    )
    .unwrap();

    assert!(origin(&loaded, "http.max_connections").ends_with(":2:3"));
    assert_eq!(
        origin(&loaded, "hub.count"),
        "environment CONDUIT_HUB_COUNT"
    );
    assert_eq!(origin(&loaded, "admin.listen"), "option --admin");
    assert_eq!(origin(&loaded, "gateway.count"), "default");
}

#[test]
fn a_value_that_was_overridden_has_the_origin_of_the_winner() {
    let loaded = load_all(
        Some(b"[hub]\ncount = 2\n"),
        &[("CONDUIT_HUB_COUNT", "3")],
        &[],
    )
    .unwrap();

    assert_eq!(
        origin(&loaded, "hub.count"),
        "environment CONDUIT_HUB_COUNT"
    );
}

// The state directory.

#[test]
fn the_state_directory_follows_the_desktop_convention() {
    let loaded = load_all(None, &[("XDG_STATE_HOME", "/var/me")], &[]).unwrap();

    assert_eq!(loaded.settings.state.dir, PathBuf::from("/var/me/conduit"));
    assert_eq!(origin(&loaded, "state.dir"), "environment XDG_STATE_HOME");
}

#[test]
fn a_relative_state_home_is_ignored() {
    let loaded = load_all(None, &[("XDG_STATE_HOME", "here")], &[]).unwrap();

    assert_eq!(origin(&loaded, "state.dir"), "environment HOME");
}

#[test]
fn a_relative_state_directory_starts_at_the_working_directory() {
    let loaded = load_file("[state]\ndir = \"here\"\n").unwrap();

    let expected = env::current_dir().unwrap().join("here");
    assert_eq!(loaded.settings.state.dir, expected);
}

#[test]
fn without_any_home_the_state_directory_must_be_given() {
    let error = load(&Sources::default()).unwrap_err();

    assert_eq!(error.code(), Code::STATE_UNUSABLE);
}

#[test]
fn a_state_directory_needs_no_home() {
    let sources = Sources {
        flags: vec![Flag {
            option: "--state-dir",
            path: "state.dir".to_owned(),
            text: "/srv/state".to_owned(),
        }],
        ..Sources::default()
    };

    let loaded = load(&sources).unwrap();

    assert_eq!(loaded.settings.state.dir, PathBuf::from("/srv/state"));
}

// The file: how it is written.

#[test]
fn tables_may_be_written_inline_or_with_dots() {
    let inline = load_file("hub = { count = 2 }").unwrap();
    let dotted = load_file("hub.count = 2").unwrap();

    assert_eq!(inline.settings, dotted.settings);
    assert_eq!(inline.settings.hub.count.get(), 2);
}

#[test]
fn lists_hold_what_they_are_of() {
    let loaded = load_file(
        "[http]\n\
         allowed_hosts = [\"mcp.example.com\"]\n\
         allowed_origins = [\"https://app.example.com\"]\n\
         trusted_proxies = [\"10.0.0.0/8\", \"::1\"]\n",
    )
    .unwrap();

    let http = &loaded.settings.http;
    assert_eq!(http.allowed_hosts[0].as_str(), "mcp.example.com");
    assert_eq!(http.allowed_origins[0].as_str(), "https://app.example.com");
    assert_eq!(http.trusted_proxies[1].to_string(), "::1/128");
}

#[test]
fn an_unknown_key_is_refused_with_the_nearest_one() {
    refuses(
        "[http]\nlisten = \"127.0.0.1:0\"\n  max_conections = 5\n",
        "conduit.toml:3:3: unknown key `http.max_conections`; \
         the nearest one is `http.max_connections`",
    );
}

#[test]
fn an_unknown_table_is_refused_with_the_nearest_one() {
    refuses(
        "[htpp]\nlisten = \"127.0.0.1:0\"\n",
        "conduit.toml:1:2: unknown table `htpp`; the nearest one is `http`",
    );
}

#[test]
fn a_key_outside_a_table_is_refused_with_the_nearest_one() {
    refuses(
        "listen = \"127.0.0.1:0\"\n",
        "conduit.toml:1:1: unknown key `listen`; the nearest one is `http.listen`",
    );
}

#[test]
fn a_value_of_the_wrong_type_is_refused_with_both_types() {
    refuses(
        "[http]\nmax_connections = \"many\"\n",
        "conduit.toml:2:19: `http.max_connections` must be \
         a whole number from 1 to 1000000, not a string",
    );
}

#[test]
fn a_table_in_the_place_of_a_value_is_refused() {
    refuses(
        "[http]\n[http.listen]\nport = 1\n",
        "conduit.toml:2:1: `http.listen` must be \
         an IP address and a port, such as \"127.0.0.1:8080\", not a table",
    );
}

#[test]
fn a_value_in_the_place_of_a_table_is_refused() {
    refuses("hub = 2\n", "conduit.toml:1:1: `hub` must be a table");
}

#[test]
fn several_tables_in_the_place_of_one_are_refused() {
    refuses(
        "[[hub]]\ncount = 1\n",
        "conduit.toml:1:3: `hub` must be a table",
    );
}

#[test]
fn a_number_out_of_its_range_is_refused_with_the_range() {
    refuses(
        "[hub]\ncount = 0\n",
        "conduit.toml:2:9: `hub.count` must be a whole number from 1 to 64",
    );
    refuses(
        "[hub]\ncount = -1\n",
        "conduit.toml:2:9: `hub.count` must be a whole number from 1 to 64",
    );
    refuses(
        "[hub]\ncount = 65537\n",
        "conduit.toml:2:9: `hub.count` must be a whole number from 1 to 64",
    );
}

#[test]
fn an_unknown_word_is_refused_with_the_known_ones() {
    refuses(
        "[log]\nlevel = \"loud\"\n",
        "conduit.toml:2:9: `log.level` must be \
         \"error\", \"warn\", \"info\", \"debug\" or \"trace\"",
    );
}

#[test]
fn an_element_of_a_list_is_refused_where_it_stands() {
    refuses(
        "[http]\ntrusted_proxies = [\n  \"10.0.0.0/8\",\n  \"10.0.0.1/8\",\n]\n",
        "conduit.toml:4:3: `http.trusted_proxies` must be a list of which each is \
         an IP address, or a network whose host bits are zero, such as \"10.0.0.0/8\"",
    );
}

#[test]
fn what_is_not_toml_is_refused_where_it_begins() {
    refuses(
        "[http]\nlisten 127.0.0.1\n",
        "conduit.toml:2:8: key with no value, expected `=`",
    );
}

#[test]
fn a_key_written_twice_is_refused_where_it_comes_again() {
    refuses(
        "[hub]\ncount = 1\ncount = 1\n",
        "conduit.toml:3:1: duplicate key",
    );
}

#[test]
fn what_is_not_text_is_refused_where_it_begins() {
    refuses(
        b"[http]\n# \xff\n",
        "conduit.toml:2:3: the configuration file is not UTF-8 text",
    );
}

#[test]
fn a_file_that_is_too_large_is_refused() {
    refuses(
        vec![b'#'; 1024 * 1024 + 1],
        "the configuration file `conduit.toml` is larger than 1048576 bytes",
    );
}

#[test]
fn a_missing_file_is_refused_with_its_path() {
    refuses_variable(
        "CONDUIT_CONFIG",
        "/does/not/exist.toml",
        "cannot read the configuration file `/does/not/exist.toml`: \
         No such file or directory (os error 2)",
    );
}

#[test]
fn a_folder_is_no_file() {
    let sources = Sources {
        file: Some("/".into()),
        ..Sources::default()
    };

    let error = load(&sources).unwrap_err();

    assert_eq!(error.code(), Code::CONFIG_UNREADABLE);
}

// The environment.

#[test]
fn lists_in_the_environment_are_separated_by_commas() {
    let loaded = load_all(
        None,
        &[("CONDUIT_HTTP_ALLOWED_HOSTS", "a.example, b.example")],
        &[],
    )
    .unwrap();

    let hosts = &loaded.settings.http.allowed_hosts;
    let hosts: Vec<_> = hosts.iter().map(ToString::to_string).collect();
    assert_eq!(hosts, ["a.example", "b.example"]);
}

#[test]
fn an_empty_list_in_the_environment_clears_that_of_the_file() {
    let loaded = load_all(
        Some(b"[http]\nallowed_hosts = [\"a.example\"]\n"),
        &[("CONDUIT_HTTP_ALLOWED_HOSTS", "")],
        &[],
    )
    .unwrap();

    assert!(loaded.settings.http.allowed_hosts.is_empty());
}

#[test]
fn flags_in_the_environment_are_true_or_false() {
    let loaded = load_all(None, &[("CONDUIT_LEGACY_REQUIRE_SESSION", "true")], &[]).unwrap();

    assert!(loaded.settings.legacy.require_session);
}

#[test]
fn an_unknown_variable_is_refused_with_the_nearest_one() {
    refuses_variable(
        "CONDUIT_HTTP_LISTNE",
        "127.0.0.1:0",
        "unknown environment variable `CONDUIT_HTTP_LISTNE`; \
         the nearest one is `CONDUIT_HTTP_LISTEN`",
    );
}

#[test]
fn variables_of_others_do_not_concern_us() {
    let loaded = load_all(None, &[("CONDUITS", "1"), ("PATH", "/bin")], &[]);

    assert!(loaded.is_ok());
}

#[test]
fn an_impossible_value_in_the_environment_is_refused_by_its_variable() {
    refuses_variable(
        "CONDUIT_HUB_COUNT",
        "none",
        "environment CONDUIT_HUB_COUNT: `hub.count` must be a whole number from 1 to 64",
    );
}

#[test]
fn a_variable_that_is_not_text_is_refused() {
    use std::os::unix::ffi::OsStringExt as _;
    let sources = Sources {
        environment: vec![(
            "CONDUIT_STATE_DIR".into(),
            OsString::from_vec(vec![b'/', 0xff]),
        )],
        ..Sources::default()
    };

    let error = load(&sources).unwrap_err();

    assert_eq!(
        error.to_string(),
        "environment CONDUIT_STATE_DIR: `state.dir` must be UTF-8 text"
    );
}

// The command line.

#[test]
fn an_unknown_setting_on_the_command_line_is_refused_with_the_nearest_one() {
    let outcome = load_all(None, &[], &[("--set", "http.listne", "x")]);

    assert_eq!(
        outcome.unwrap_err(),
        "option --set: unknown key `http.listne`; the nearest one is `http.listen`"
    );
}

#[test]
fn an_impossible_value_on_the_command_line_is_refused_by_its_option() {
    let outcome = load_all(None, &[], &[("--listen", "http.listen", "here")]);

    assert_eq!(
        outcome.unwrap_err(),
        "option --listen: `http.listen` must be \
         an IP address and a port, such as \"127.0.0.1:8080\""
    );
}

#[test]
fn a_slip_on_the_command_line_is_a_matter_of_usage() {
    let sources = Sources {
        flags: vec![Flag {
            option: "--listen",
            path: "http.listen".to_owned(),
            text: "here".to_owned(),
        }],
        ..Sources::default()
    };

    let error = load(&sources).unwrap_err();

    assert_eq!(error.code(), Code::USAGE);
}

#[test]
fn a_slip_in_the_environment_is_a_matter_of_configuration() {
    let sources = Sources {
        environment: vec![("CONDUIT_HUB_COUNT".into(), "none".into())],
        ..Sources::default()
    };

    let error = load(&sources).unwrap_err();

    assert_eq!(error.code(), Code::CONFIG_INVALID);
}

// Two settings together.

#[test]
fn two_settings_that_do_not_go_together_are_both_named() {
    refuses(
        "[supervisor]\nheartbeat_ms = 3000\n",
        "`supervisor.dead_after_ms` (default) must be more than \
         `supervisor.heartbeat_ms` (conduit.toml:2:1)",
    );
}

#[test]
fn both_ports_at_one_address_are_refused() {
    let outcome = load_all(
        None,
        &[("CONDUIT_ADMIN_LISTEN", "127.0.0.1:1")],
        &[("--listen", "http.listen", "0.0.0.0:1")],
    );

    assert_eq!(
        outcome.unwrap_err(),
        "`http.listen` (option --listen) must be another address than \
         `admin.listen` (environment CONDUIT_ADMIN_LISTEN)"
    );
}

#[test]
fn a_task_that_lives_longer_than_any_may_is_refused() {
    refuses(
        "[tasks]\nmax_ttl_ms = 60000\n",
        "`tasks.ttl_ms` (default) must not be more than \
         `tasks.max_ttl_ms` (conduit.toml:2:1)",
    );
}

#[test]
fn a_task_is_not_taken_from_a_gateway_before_it_counts_as_dead() {
    refuses(
        "[supervisor]\ndead_after_ms = 30000\n",
        "`tasks.lease_ms` (default) must be more than \
         `supervisor.dead_after_ms` (conduit.toml:2:1)",
    );
}

// All settings.

#[test]
fn no_message_repeats_the_value() {
    const SECRET: &str = "hunter2!";
    for key in KEYS.iter().filter(|key| key.path != "state.dir") {
        let file = format!("[{}]\n{} = \"{SECRET}\"\n", key.table, key.name);
        let message = load_file(file).unwrap_err();
        assert!(!message.contains(SECRET), "{message}");

        let message = load_all(None, &[(&key.variable(), SECRET)], &[]).unwrap_err();
        assert!(!message.contains(SECRET), "{message}");
    }
}

#[test]
fn settings_survive_the_way_to_a_child() {
    let loaded = load_file(
        "[http]\ntrusted_proxies = [\"10.0.0.0/8\"]\nallowed_hosts = [\"a.example\"]\n\
         [cancellation]\naddress_scope = \"off\"\n",
    )
    .unwrap();

    let json = serde_json::to_string(&loaded.settings).unwrap();

    let again: Settings = serde_json::from_str(&json).unwrap();
    assert_eq!(again, loaded.settings);
}

proptest! {
    #[test]
    fn any_bytes_load_or_are_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _outcome = load_file(bytes);
    }

    #[test]
    fn any_text_of_toml_loads_or_is_refused(text in "[\\[\\]a-z._=\"'{}, 0-9\n#-]{0,80}") {
        let _outcome = load_file(text);
    }
}
