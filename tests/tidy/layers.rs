//! A crate depends only on crates of a lower layer.

use crate::repository::{assert_none, crates, packages, root_manifest, table};

#[test]
fn dependencies_point_down_only() {
    let layers = table(&root_manifest(), &["workspace", "metadata", "layers"]);
    let layer_of = |name: &str| layers.get(name).and_then(toml::Value::as_integer);
    let mut offenders = Vec::new();

    for package in packages() {
        let Some(user) = package.crate_name() else {
            continue;
        };
        let Some(layer) = layer_of(user) else {
            offenders.push(format!("{user} has no layer"));
            continue;
        };
        for dependency in package.shipped_dependencies() {
            let Some(used) = dependency.crate_name() else {
                continue;
            };
            if layer_of(used).is_none_or(|below| below >= layer) {
                offenders.push(format!("{user} must not use {used}"));
            }
        }
    }

    assert_none("Use crates of a lower layer (root Cargo.toml):", &offenders);
}

#[test]
fn every_layer_belongs_to_a_crate() {
    let layers = table(&root_manifest(), &["workspace", "metadata", "layers"]);
    let crates = crates();

    let offenders: Vec<_> = layers
        .keys()
        .filter(|name| !crates.contains(name))
        .cloned()
        .collect();

    assert_none("Layers of crates that are gone:", &offenders);
}

#[test]
fn an_authors_server_needs_the_face_alone() {
    let offenders: Vec<_> = packages()
        .iter()
        .filter(|package| package.folder == "tests/fixture-server")
        .flat_map(|package| {
            let used = package.dependencies("dependencies").into_iter();
            used.filter_map(|dependency| dependency.crate_name().map(str::to_owned))
                .collect::<Vec<_>>()
        })
        .filter(|used| used != "conduit")
        .collect();

    assert_none(
        "The fixture server names crates behind `conduit`:",
        &offenders,
    );
}
