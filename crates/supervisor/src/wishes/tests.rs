use std::os::unix::fs::PermissionsExt;

use super::*;
use crate::Options;

fn plan(folder: &Path, gateways: Configured, hubs: u16) -> Plan {
    Plan {
        gateways,
        hubs: Configured::exactly(hubs),
        state_dir: folder.to_owned(),
        settings_json: Vec::new(),
        options: Options::default(),
        child_args: Vec::new(),
    }
}

fn load(folder: &Path, gateways: u16, hubs: u16) -> Wishes {
    Wishes::load(&plan(folder, Configured::exactly(gateways), hubs))
}

fn counts(wishes: &Wishes) -> (u16, u16) {
    (wishes.count(Role::Gateway), wishes.count(Role::Hub))
}

#[test]
fn without_a_file_the_configuration_holds() {
    let folder = tempfile::tempdir().unwrap();

    assert_eq!(counts(&load(folder.path(), 2, 1)), (2, 1));
    assert!(!folder.path().join(FILE).exists());
}

#[test]
fn a_wish_survives_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    load(folder.path(), 2, 1)
        .with(Role::Hub, 4)
        .with(Role::Gateway, 3)
        .save()
        .unwrap();

    assert_eq!(counts(&load(folder.path(), 2, 1)), (3, 4));
}

#[test]
fn a_changed_setting_wins_over_the_wish_for_it_and_for_no_other() {
    let folder = tempfile::tempdir().unwrap();
    let first = load(folder.path(), 2, 1);
    let wishes = first.with(Role::Hub, 4).with(Role::Gateway, 3);
    wishes.save().unwrap();

    assert_eq!(counts(&load(folder.path(), 2, 2)), (3, 2));
}

#[test]
fn a_wish_that_was_dropped_does_not_come_back_with_the_old_setting() {
    let folder = tempfile::tempdir().unwrap();
    load(folder.path(), 2, 1).with(Role::Hub, 4).save().unwrap();
    load(folder.path(), 2, 2);

    assert_eq!(counts(&load(folder.path(), 2, 1)), (2, 1));
}

#[test]
fn a_setting_that_means_as_many_as_cores_is_the_same_on_other_cores() {
    let folder = tempfile::tempdir().unwrap();
    let cores = |count| Configured { setting: 0, count };
    let first = Wishes::load(&plan(folder.path(), cores(2), 1));
    first.with(Role::Gateway, 3).save().unwrap();

    let later = Wishes::load(&plan(folder.path(), cores(8), 1));

    assert_eq!(later.count(Role::Gateway), 3);
}

#[test]
fn a_wish_for_what_is_configured_is_none() {
    let folder = tempfile::tempdir().unwrap();
    let wishes = load(folder.path(), 2, 1).with(Role::Hub, 4);

    wishes.with(Role::Hub, 1).save().unwrap();

    let text = fs::read_to_string(folder.path().join(FILE)).unwrap();
    assert_eq!(text, "{}\n");
}

#[test]
fn nobody_else_can_read_the_file_and_nothing_is_left_beside_it() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join(NEW), "from a crash").unwrap();
    fs::set_permissions(folder.path().join(NEW), fs::Permissions::from_mode(0o600)).unwrap();

    load(folder.path(), 2, 1).with(Role::Hub, 4).save().unwrap();

    let file = fs::metadata(folder.path().join(FILE)).unwrap();
    assert_eq!(file.permissions().mode() & 0o777, 0o600);
    assert!(!folder.path().join(NEW).exists());
}

#[test]
fn a_file_that_makes_no_sense_leaves_the_configuration() {
    let long = format!(
        r#"{{"hub":{{"count":4,"configured":1}}}}{}"#,
        " ".repeat(5000) + "x"
    );
    for text in [
        "",
        "{",
        "[]",
        r#"{"hub":{"count":0,"configured":1}}"#,
        r#"{"hub":{"count":65,"configured":1}}"#,
        r#"{"hub":{"count":70000,"configured":1}}"#,
        r#"{"gateway":{"count":257,"configured":2}}"#,
        r#"{"hub":{"count":4}}"#,
        r#"{"store":{"count":4,"configured":1}}"#,
        "\u{0}\u{0}\u{0}\u{0}",
    ] {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(FILE), text).unwrap();

        assert_eq!(counts(&load(folder.path(), 2, 1)), (2, 1), "{text}");
    }
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join(FILE), long).unwrap();
    assert_eq!(counts(&load(folder.path(), 2, 1)).0, 2);
}

#[test]
fn a_folder_in_place_of_the_file_leaves_the_configuration_and_takes_no_wish() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join(FILE)).unwrap();

    let wishes = load(folder.path(), 2, 1);

    assert_eq!(counts(&wishes), (2, 1));
    wishes.with(Role::Hub, 4).save().unwrap_err();
}
