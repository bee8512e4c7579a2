use super::*;

const LIFE: &str = "6e4ba2a5-54e1-4f1d-9b8e-8a1f0a3a9b10";

fn read(arguments: &[&str]) -> Result<Args, clap::Error> {
    let arguments: Vec<_> = arguments.iter().map(OsString::from).collect();
    Args::read(&Program::of(&arguments), &arguments)
}

fn flags(arguments: &[&str]) -> Vec<(&'static str, String, String)> {
    let args = read(arguments).unwrap();
    let flags = args.options.flags().into_iter();
    flags
        .map(|flag| (flag.option, flag.path, flag.text))
        .collect()
}

#[track_caller]
fn check_flag(arguments: &[&str], option: &'static str, path: &str, text: &str) {
    assert_eq!(
        flags(arguments),
        [(option, path.to_owned(), text.to_owned())]
    );
}

#[test]
fn the_definition_of_the_arguments_is_consistent() {
    Line::command().debug_assert();
}

#[test]
fn without_a_command_everything_starts() {
    let args = read(&["conduit"]).unwrap();

    assert_eq!(args.command, Command::Up);
}

#[test]
fn options_stand_before_and_behind_the_command() {
    let before = flags(&["conduit", "--listen", "127.0.0.1:0", "up"]);
    let behind = flags(&["conduit", "up", "--listen", "127.0.0.1:0"]);

    assert_eq!(before, behind);
}

#[test]
fn each_option_is_a_setting() {
    check_flag(
        &["conduit", "--listen", "127.0.0.1:0"],
        "--listen",
        "http.listen",
        "127.0.0.1:0",
    );
    check_flag(
        &["conduit", "--admin", "127.0.0.1:0"],
        "--admin",
        "admin.listen",
        "127.0.0.1:0",
    );
    check_flag(
        &["conduit", "--state-dir", "/s"],
        "--state-dir",
        "state.dir",
        "/s",
    );
    check_flag(
        &["conduit", "--log-format", "json"],
        "--log-format",
        "log.format",
        "json",
    );
    check_flag(&["conduit", "-v"], "-v", "log.level", "debug");
    check_flag(&["conduit", "-vvv"], "-v", "log.level", "trace");
    check_flag(
        &["conduit", "--set", "hub.count=2"],
        "--set",
        "hub.count",
        "2",
    );
}

#[test]
fn every_setting_of_an_option_exists() {
    let args = read(&[
        "conduit",
        "--listen=127.0.0.1:0",
        "--admin=127.0.0.1:0",
        "--state-dir=/s",
        "--log-format=json",
        "-v",
    ])
    .unwrap();
    let sources = Sources {
        flags: args.options.flags(),
        ..Sources::default()
    };

    let loaded = conduit_config::load(&sources);

    assert!(loaded.is_ok(), "{loaded:?}");
}

#[test]
fn a_set_wins_over_the_other_options() {
    let flags = flags(&["conduit", "--set", "log.level=warn", "-v"]);

    assert_eq!(flags.last().unwrap().0, "--set");
}

#[test]
fn the_file_is_no_setting() {
    let args = read(&["conduit", "--config", "/a.toml"]).unwrap();

    let sources = args.sources();

    assert_eq!(sources.file, Some("/a.toml".into()));
    assert!(sources.flags.is_empty());
}

fn child(slot: &str, parent: &str) -> Result<Args, clap::Error> {
    let (slot, parent) = (format!("--slot={slot}"), format!("--parent={parent}"));
    let life = format!("--life={LIFE}");
    read(&[
        "conduit",
        "child",
        &slot,
        &life,
        &parent,
        "--run-dir=/run/here",
    ])
}

#[test]
fn a_child_learns_its_place() {
    let args = child("gateway-1", "17").unwrap();

    assert_eq!(
        args.command,
        Command::Child(Child {
            slot: Slot::gateway(1),
            life: LIFE.parse().unwrap(),
            parent: 17,
            run_dir: "/run/here".into(),
        })
    );
}

#[test]
fn a_child_in_a_slot_of_nobody_s_is_refused() {
    for slot in ["supervisor", "operator-0", "hub", "x-1"] {
        let outcome = child(slot, "17");

        assert_eq!(outcome.unwrap_err().kind(), ErrorKind::ValueValidation);
    }
}

#[test]
fn a_child_without_a_supervisor_is_refused() {
    for parent in ["0", "-1", "x"] {
        let outcome = child("store", parent);

        assert_eq!(outcome.unwrap_err().kind(), ErrorKind::ValueValidation);
    }
}

#[test]
fn what_only_a_supervisor_starts_is_not_in_the_help() {
    let help = read(&["conduit", "--help"]).unwrap_err().to_string();

    assert!(!help.contains("child"), "{help}");
    assert!(help.contains("explain"), "{help}");
}

#[test]
fn hubs_and_gateways_are_scaled() {
    let args = read(&["conduit", "scale", "hub", "4"]).unwrap();

    let expected = Scale {
        kind: Kind::Hub,
        count: 4,
        no_wait: false,
    };
    assert_eq!(args.command, Command::Scale(expected));
}

#[test]
fn counts_end_where_those_of_the_configuration_do() {
    for (kind, counts) in [("hub", ["1", "64"]), ("gateway", ["0", "256"])] {
        for count in counts {
            read(&["conduit", "scale", kind, count]).unwrap();
        }
    }
    for (kind, count) in [
        ("hub", "0"),
        ("hub", "65"),
        ("gateway", "257"),
        ("gateway", "70000"),
        ("gateway", "many"),
    ] {
        let outcome = read(&["conduit", "scale", kind, count]);

        assert_eq!(outcome.unwrap_err().kind(), ErrorKind::ValueValidation);
    }
}

#[test]
fn nothing_else_is_scaled() {
    for kind in ["store", "supervisor", "hubs"] {
        let outcome = read(&["conduit", "scale", kind, "2"]);

        assert_eq!(outcome.unwrap_err().kind(), ErrorKind::InvalidValue);
    }
}

#[test]
fn the_help_has_the_name_of_the_executable() {
    let help = read(&["/opt/bin/my-server", "--help"]).unwrap_err();

    assert!(help.to_string().contains("Usage: my-server "), "{help}");
}

#[test]
fn the_stock_binary_has_a_version_of_its_own() {
    let version = read(&["conduit", "--version"]).unwrap_err();

    assert_eq!(version.to_string(), format!("conduit {VERSION}\n"));
}

#[test]
fn another_binary_says_what_it_was_built_with() {
    let version = read(&["my-server", "--version"]).unwrap_err();

    assert_eq!(
        version.to_string(),
        format!("my-server (Conduit {VERSION})\n")
    );
}

#[test]
fn a_program_without_a_name_is_the_stock_binary() {
    assert_eq!(Program::of(&[]).name, "conduit");
}
