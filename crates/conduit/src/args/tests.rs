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

#[test]
fn a_child_learns_its_place() {
    let args = read(&[
        "conduit",
        "gateway",
        "--slot",
        "gateway-1",
        "--life",
        LIFE,
        "--parent",
        "17",
        "--run-dir",
        "/run/here",
    ])
    .unwrap();

    assert_eq!(
        args.command,
        Command::Gateway(Child {
            slot: Slot {
                role: Role::Gateway,
                index: 1
            },
            life: LIFE.parse().unwrap(),
            parent: 17,
            run_dir: "/run/here".into(),
        })
    );
}

#[test]
fn a_child_in_the_slot_of_another_role_is_refused() {
    let outcome = read(&[
        "conduit",
        "gateway",
        "--slot",
        "hub-0",
        "--life",
        LIFE,
        "--parent",
        "17",
        "--run-dir",
        "/run/here",
    ]);

    assert_eq!(outcome.unwrap_err().kind(), ErrorKind::ValueValidation);
}

#[test]
fn a_child_without_a_supervisor_is_refused() {
    for parent in ["0", "-1", "x"] {
        let parent = format!("--parent={parent}");
        let arguments = ["conduit", "store", "--slot=store", "--run-dir=/run/here"];
        let life = format!("--life={LIFE}");

        let outcome = read(&[&arguments[..], &[&life, &parent]].concat());

        assert_eq!(outcome.unwrap_err().kind(), ErrorKind::ValueValidation);
    }
}

#[test]
fn the_roles_of_children_are_not_in_the_help() {
    let help = read(&["conduit", "--help"]).unwrap_err().to_string();

    assert!(!help.contains("gateway"), "{help}");
    assert!(help.contains("explain"), "{help}");
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
