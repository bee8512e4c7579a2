//! Manifests inherit lints and versions, and say what their package is for.

use std::collections::BTreeMap;

use toml::{Table, Value};

use crate::repository::{assert_none, packages, root_manifest, table};

const KINDS: &[&str] = &["dependencies", "build-dependencies", "dev-dependencies"];
const INHERITED: &[&str] = &["version", "edition", "rust-version", "license", "publish"];

#[test]
fn every_package_inherits_lints_and_what_packages_share() {
    let mut offenders = Vec::new();

    for package in packages() {
        let folder = &package.folder;
        if !is_inherited(package.manifest.get("lints")) {
            offenders.push(format!("{folder}: `[lints] workspace = true` is missing"));
        }
        for key in INHERITED {
            if !is_inherited(package.about(key)) {
                offenders.push(format!("{folder}: `{key}.workspace = true` is missing"));
            }
        }
    }

    assert_none("Inherit from the root Cargo.toml:", &offenders);
}

#[test]
fn nothing_is_published() {
    let shared = table(&root_manifest(), &["workspace", "package"]);

    assert_eq!(shared.get("publish"), Some(&Value::Boolean(false)));
}

#[test]
fn every_package_says_what_it_is_for() {
    let offenders: Vec<_> = packages()
        .iter()
        .filter(|package| {
            let text = package.about("description").and_then(Value::as_str);
            text.is_none_or(|text| text.trim().is_empty())
        })
        .map(|package| package.folder.clone())
        .collect();

    assert_none("Packages without a description:", &offenders);
}

#[test]
fn what_two_packages_use_has_its_version_in_the_root() {
    let shared = table(&root_manifest(), &["workspace", "dependencies"]);
    let mut of_its_own: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut offenders = Vec::new();

    for package in packages() {
        for dependency in KINDS.iter().flat_map(|kind| package.dependencies(kind)) {
            if is_inherited(Some(dependency.value)) {
                continue;
            }
            let name = dependency.package;
            if shared.contains_key(name) {
                offenders.push(format!("{}: `{name}.workspace = true`", package.folder));
            }
            let users = of_its_own.entry(name.to_owned()).or_default();
            users.push(package.folder.clone());
        }
    }

    of_its_own.retain(|_, users| users.len() > 1);
    for (name, users) in of_its_own {
        offenders.push(format!("{name}: {}", users.join(", ")));
    }
    assert_none(
        "Versions that belong to [workspace.dependencies]:",
        &offenders,
    );
}

#[test]
fn a_panic_unwinds_in_every_profile() {
    let root = root_manifest();
    let release = table(&root, &["profile", "release"]);
    let mut offenders = Vec::new();

    if release.get("panic").and_then(Value::as_str) != Some("unwind") {
        offenders.push("Cargo.toml: profile.release without panic = \"unwind\"".to_owned());
    }
    for (profile, settings) in table(&root, &["profile"]) {
        if aborts(&settings) {
            offenders.push(format!("Cargo.toml: profile.{profile}"));
        }
    }
    for package in packages() {
        if package.manifest.contains_key("profile") {
            offenders.push(format!("{}: cargo ignores a profile here", package.folder));
        }
    }

    assert_none("A callback's panic must stay a failed request:", &offenders);
}

fn is_inherited(value: Option<&Value>) -> bool {
    let marked = value.and_then(|value| value.get("workspace"));
    marked.and_then(Value::as_bool) == Some(true)
}

fn aborts(settings: &Value) -> bool {
    let panic = settings
        .as_table()
        .and_then(|table: &Table| table.get("panic"));
    panic.and_then(Value::as_str) == Some("abort")
}
