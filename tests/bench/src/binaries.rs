//! The executables that are measured: built for this run, beside our own.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, bail};
use tokio::process::Command;
use tokio::time::timeout;

use crate::args::{Binary, Name};

/// The longest that a build may take.
const PATIENCE: Duration = Duration::from_mins(30);

/// Where the executables are.
#[derive(Clone, Debug)]
pub(crate) struct Binaries {
    own: PathBuf,
    folder: PathBuf,
}

impl Binaries {
    /// Looks beside the running executable.
    pub(crate) fn beside_ours() -> anyhow::Result<Self> {
        let own = std::env::current_exe().context("cannot find our own executable")?;
        let folder = own.parent().context("our executable is in no folder")?;
        let folder = folder.to_owned();
        Ok(Self { own, folder })
    }

    /// Returns our own executable, which is the floor too.
    pub(crate) fn own(&self) -> &Path {
        &self.own
    }

    /// Returns the path of a binary.
    pub(crate) fn path(&self, binary: Binary) -> PathBuf {
        self.folder.join(binary.package())
    }

    /// Builds what the targets need, with our own profile; quick when all is built.
    pub(crate) async fn build(&self, targets: &[Name]) -> anyhow::Result<()> {
        let needed = needed(targets);
        if needed.is_empty() {
            return Ok(());
        }
        let mut command = Command::new(option_env!("CARGO").unwrap_or("cargo"));
        command
            .args(["build", "--quiet", "--locked", "--profile", self.profile()?])
            .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
            .kill_on_drop(true);
        for binary in &needed {
            command.args(["--package", binary.package()]);
        }
        let status = timeout(PATIENCE, command.status())
            .await
            .context("building the binaries takes too long")?
            .context("cannot run cargo")?;
        if !status.success() {
            bail!("cannot build the binaries: {status}");
        }
        Ok(())
    }

    /// Makes sure that what the targets need is there.
    pub(crate) fn check(&self, targets: &[Name]) -> anyhow::Result<()> {
        for binary in needed(targets) {
            let path = self.path(binary);
            if !path.is_file() {
                bail!(
                    "{} is missing: `cargo build --release --package {}`",
                    path.display(),
                    binary.package()
                );
            }
        }
        Ok(())
    }

    fn profile(&self) -> anyhow::Result<&str> {
        match self.folder.file_name().and_then(|name| name.to_str()) {
            Some("debug") => Ok("dev"),
            Some(profile) => Ok(profile),
            None => bail!("{} is no folder of a profile", self.folder.display()),
        }
    }
}

// === Behind the binaries ===

fn needed(targets: &[Name]) -> Vec<Binary> {
    let mut found = Vec::new();
    for target in targets {
        if let Name::House { binary, .. } = target
            && !found.contains(binary)
        {
            found.push(*binary);
        }
    }
    found
}
