//! A heavy library is named by the crates that keep its gate, and by no other.

use toml::Value;

use crate::repository::{assert_none, packages, root_manifest, table};

#[test]
fn a_heavy_library_is_named_by_its_gatekeepers_alone() {
    let gates = table(&root_manifest(), &["workspace", "metadata", "gatekeepers"]);
    let mut offenders = Vec::new();

    for package in packages() {
        // `testkit` is never shipped, see below.
        let Some(user) = package.crate_name().filter(|name| *name != "testkit") else {
            continue;
        };
        for dependency in package.shipped_dependencies() {
            let Some(keepers) = gates.get(dependency.package).and_then(Value::as_array) else {
                continue;
            };
            if !keepers.iter().any(|keeper| keeper.as_str() == Some(user)) {
                offenders.push(format!("{user} must not name {}", dependency.package));
            }
        }
    }

    assert_none("Ask the gatekeeper (root Cargo.toml):", &offenders);
}

#[test]
fn every_gatekeeper_names_its_library() {
    let gates = table(&root_manifest(), &["workspace", "metadata", "gatekeepers"]);
    let packages = packages();
    let mut offenders = Vec::new();

    for (library, keepers) in &gates {
        for keeper in keepers.as_array().into_iter().flatten() {
            let keeper = keeper.as_str().unwrap_or_default();
            let names_it = packages
                .iter()
                .filter(|package| package.crate_name() == Some(keeper))
                .flat_map(|package| package.shipped_dependencies())
                .any(|dependency| dependency.package == library);
            if !names_it {
                offenders.push(format!("{keeper} does not use {library}"));
            }
        }
    }

    assert_none("Gates without a keeper (root Cargo.toml):", &offenders);
}

#[test]
fn what_is_for_tests_is_not_shipped() {
    let mut offenders = Vec::new();

    for package in packages() {
        for dependency in package.shipped_dependencies() {
            if dependency.crate_name() == Some("testkit") {
                offenders.push(package.folder.clone());
            }
        }
    }

    assert_none("`testkit` belongs under [dev-dependencies]:", &offenders);
}
