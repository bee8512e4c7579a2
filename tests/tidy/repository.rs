//! What the rules look at: files and manifests of the working copy.

use std::fs;
use std::path::{Path, PathBuf};

use toml::{Table, Value};

/// Folders that are not ours to tidy: built, installed, or hidden.
const FOREIGN: &[&str] = &["target", "node_modules", "__pycache__", "venv"];

/// A package of the workspace.
pub(crate) struct Package {
    /// Its folder, from the root, such as `crates/http`.
    pub(crate) folder: String,
    pub(crate) manifest: Table,
}

/// One dependency of a package.
pub(crate) struct Dependency<'a> {
    /// The package that is depended on, whatever it is called here.
    pub(crate) package: &'a str,
    pub(crate) value: &'a Value,
}

/// Fails with every offender, if there is one.
#[track_caller]
pub(crate) fn assert_none(rule: &str, offenders: &[String]) {
    assert!(offenders.is_empty(), "{rule}\n  {}", offenders.join("\n  "));
}

pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Reads a file, by its path from the root.
pub(crate) fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic_about(path, &error))
}

/// Returns the root manifest.
pub(crate) fn root_manifest() -> Table {
    parse("Cargo.toml")
}

/// Returns the packages of the workspace, by folder.
pub(crate) fn packages() -> Vec<Package> {
    files("toml")
        .into_iter()
        .filter_map(|path| path.strip_suffix("/Cargo.toml").map(str::to_owned))
        .map(|folder| Package {
            manifest: parse(&format!("{folder}/Cargo.toml")),
            folder,
        })
        // A package that is a workspace of its own has rules of its own.
        .filter(|package| !package.manifest.contains_key("workspace"))
        .collect()
}

/// Returns the names of the folders in `crates/`.
pub(crate) fn crates() -> Vec<String> {
    packages()
        .iter()
        .filter_map(|package| package.crate_name().map(str::to_owned))
        .collect()
}

/// Returns the files with this extension, from the root, in order.
pub(crate) fn files(extension: &str) -> Vec<String> {
    let mut found = Vec::new();
    walk(&root(), "", &mut found);
    found.retain(|path| {
        let of_path = Path::new(path).extension();
        of_path.is_some_and(|of_path| of_path == extension)
    });
    found.sort();
    found
}

/// Follows keys into nested tables; nothing there is an empty table.
pub(crate) fn table(whole: &Table, keys: &[&str]) -> Table {
    keys.iter().fold(whole.clone(), |table, key| {
        let inner = table.get(*key).and_then(Value::as_table);
        inner.cloned().unwrap_or_default()
    })
}

impl Package {
    /// Returns the folder's name if the package is one of `crates/`.
    pub(crate) fn crate_name(&self) -> Option<&str> {
        self.folder.strip_prefix("crates/")
    }

    /// Returns a key of `[package]`.
    pub(crate) fn about(&self, key: &str) -> Option<&Value> {
        self.manifest.get("package")?.get(key)
    }

    /// Returns the entries of one kind, those for some targets only included.
    pub(crate) fn dependencies(&self, kind: &str) -> Vec<Dependency<'_>> {
        let everywhere = self.manifest.get(kind);
        let targets = self.manifest.get("target").and_then(Value::as_table);
        let somewhere = targets.into_iter().flat_map(Table::values);
        everywhere
            .into_iter()
            .chain(somewhere.filter_map(|target| target.get(kind)))
            .filter_map(Value::as_table)
            .flatten()
            .map(|(name, value)| Dependency {
                package: value.get("package").and_then(Value::as_str).unwrap_or(name),
                value,
            })
            .collect()
    }

    /// Returns what the shipped code depends on, build scripts included.
    pub(crate) fn shipped_dependencies(&self) -> Vec<Dependency<'_>> {
        let mut all = self.dependencies("dependencies");
        all.extend(self.dependencies("build-dependencies"));
        all
    }
}

impl Dependency<'_> {
    /// Returns the folder in `crates/`, if it is one of ours.
    pub(crate) fn crate_name(&self) -> Option<&str> {
        match self.package {
            "conduit" => Some("conduit"),
            other => other.strip_prefix("conduit-"),
        }
    }
}

fn parse(path: &str) -> Table {
    read(path)
        .parse()
        .unwrap_or_else(|error| panic_about(path, &error))
}

#[expect(
    clippy::panic,
    reason = "the test cannot say anything without the file"
)]
fn panic_about(path: &str, error: &dyn std::error::Error) -> ! {
    panic!("{path}: {error}")
}

fn walk(folder: &Path, path: &str, found: &mut Vec<String>) {
    // A folder that vanishes meanwhile, such as a temporary one, has nothing.
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    for entry in entries {
        let name = entry.file_name().to_string_lossy().into_owned();
        let Ok(kind) = entry.file_type() else {
            continue;
        };
        let path = match path {
            "" => name.clone(),
            _ => format!("{path}/{name}"),
        };
        if kind.is_file() {
            found.push(path);
        } else if kind.is_dir() && !name.starts_with('.') && !FOREIGN.contains(&name.as_str()) {
            walk(&entry.path(), &path, found);
        }
    }
}
