//! Where the state directory is when nobody says so.

use std::ffi::OsString;
use std::path::{self, PathBuf};

use crate::Origin;
use crate::load::{Error, Loaded};

const PATH: &str = "state.dir";

/// Makes `state.dir` an absolute path.
///
/// Source: XDG Base Directory Specification, which says to ignore relative paths.
pub(crate) fn resolve(
    environment: &[(OsString, OsString)],
    loaded: &mut Loaded,
) -> Result<(), Error> {
    if loaded.settings.state.dir.as_os_str().is_empty() {
        let (dir, variable) = from_environment(environment).ok_or(Error::NoStateDir)?;
        let variable = variable.to_owned();
        loaded.settings.state.dir = dir;
        loaded.origins.set(PATH, Origin::Environment { variable });
        return Ok(());
    }
    loaded.settings.state.dir = path::absolute(&loaded.settings.state.dir)
        .map_err(|source| Error::NoWorkingDir { source })?;
    Ok(())
}

// === Behind the handle ===

fn from_environment(environment: &[(OsString, OsString)]) -> Option<(PathBuf, &'static str)> {
    const CANDIDATES: [(&str, &str); 2] = [
        ("XDG_STATE_HOME", "conduit"),
        ("HOME", ".local/state/conduit"),
    ];
    CANDIDATES.into_iter().find_map(|(variable, below)| {
        let (_, home) = environment.iter().find(|(name, _)| name == variable)?;
        let home = PathBuf::from(home);
        let dir = home.is_absolute().then(|| home.join(below))?;
        dir.to_str().is_some().then_some((dir, variable))
    })
}
