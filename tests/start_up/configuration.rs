//! What is wrong in the configuration is found before anything is started.

use conduit_testkit::{Ending, Options, Tree, binary};
use tokio::process::Command;

use crate::is_one_clear_line;

#[tokio::test]
async fn an_unknown_key_is_pointed_at_with_the_nearest_known_one() {
    let ending = Options::conduit()
        .config("[http]\nlisten = \"127.0.0.1:0\"\nmax_conections = 5\n")
        .ending()
        .await;

    refuses(&ending, "conduit.toml:3:1");
    assert!(ending.stderr.contains("max_connections"), "{ending:?}");
}

#[tokio::test]
async fn an_unknown_table_is_pointed_at_with_the_nearest_known_one() {
    let ending = Options::conduit().config("[htpp]\n").ending().await;

    refuses(&ending, "conduit.toml:1:");
    assert!(ending.stderr.contains("http"), "{ending:?}");
}

#[tokio::test]
async fn a_value_of_the_wrong_type_is_pointed_at() {
    let ending = Options::conduit()
        .config("[gateway]\n\ncount = \"two\"\n")
        .ending()
        .await;

    refuses(&ending, "conduit.toml:3:9");
    assert!(ending.stderr.contains("gateway.count"), "{ending:?}");
}

#[tokio::test]
async fn an_impossible_value_is_pointed_at() {
    let ending = Options::conduit()
        .config("[gateway]\ncount = 100000\n")
        .ending()
        .await;

    refuses(&ending, "conduit.toml:2:9");
}

#[tokio::test]
async fn what_is_not_toml_is_pointed_at() {
    let ending = Options::conduit().config("[gateway\n").ending().await;

    refuses(&ending, "conduit.toml:1:");
}

#[tokio::test]
async fn a_file_that_is_not_there_is_named() {
    let ending = Options::conduit()
        .argument("--config")
        .argument("/no/such/file.toml")
        .ending()
        .await;

    refuses(&ending, "/no/such/file.toml");
}

#[tokio::test]
async fn a_bad_variable_is_named() {
    let ending = Options::conduit()
        .environment("CONDUIT_GATEWAY_COUNT", "many")
        .ending()
        .await;

    refuses(&ending, "CONDUIT_GATEWAY_COUNT");
}

#[tokio::test]
async fn an_unknown_variable_is_named_with_the_nearest_known_one() {
    let ending = Options::conduit()
        .environment("CONDUIT_GATEWAY_CUONT", "2")
        .ending()
        .await;

    refuses(&ending, "CONDUIT_GATEWAY_CUONT");
    assert!(
        ending.stderr.contains("CONDUIT_GATEWAY_COUNT"),
        "{ending:?}"
    );
}

#[tokio::test]
async fn the_file_decides_how_many_gateways_there_are_and_a_variable_overrides_it() {
    let options = Options::conduit().config("[gateway]\ncount = 3\n");

    let by_file = Tree::start(options.clone()).await;
    let by_variable = Tree::start(options.gateways(1)).await;

    let gateways = async |tree: Tree| {
        tree.status()
            .await
            .slots
            .iter()
            .filter(|slot| slot.slot.starts_with("gateway-"))
            .count()
    };
    assert_eq!(
        (gateways(by_file).await, gateways(by_variable).await),
        (3, 1)
    );
}

#[tokio::test]
async fn the_effective_configuration_is_printed_with_the_origin_of_each_value() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("conduit.toml");
    std::fs::write(&file, "[gateway]\ncount = 3\n").expect("a file");

    let output = Command::new(binary("conduit"))
        .args(["config", "--listen", "127.0.0.1:7777", "--config"])
        .arg(&file)
        .env("CONDUIT_HUB_COUNT", "2")
        .output()
        .await
        .expect("it runs");

    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{output:?}");
    for (key, value, origin) in [
        ("count", "3", "conduit.toml"),
        ("count", "2", "CONDUIT_HUB_COUNT"),
        ("listen", "127.0.0.1:7777", "--listen"),
        ("max_body_bytes", "4194304", "default"),
    ] {
        let is_there = |line: &str| {
            let digits = line.replace('_', "");
            line.contains(key)
                && (line.contains(value) || digits.contains(value))
                && line.contains(origin)
        };
        assert!(
            printed.lines().any(is_there),
            "{key} = {value} by {origin} is not in\n{printed}"
        );
    }
}

#[track_caller]
fn refuses(ending: &Ending, place: &str) {
    assert_eq!(ending.status, Some(78), "{ending:?}");
    is_one_clear_line(ending);
    assert!(
        ending.stderr.contains(place),
        "{place} is not named: {ending:?}"
    );
    assert_eq!(ending.stdout, "", "{ending:?}");
}
