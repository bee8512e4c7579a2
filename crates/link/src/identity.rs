//! Which executable this process runs.

use std::io;
use std::os::unix::fs::MetadataExt;

/// Returns what tells this executable from any other: version, device, inode,
/// size and time of change of the file that runs, even if it was replaced on disk.
///
/// # Errors
///
/// Fails where `/proc` is not mounted.
pub fn build_id() -> io::Result<String> {
    let file = std::fs::metadata("/proc/self/exe")?;
    Ok(format!(
        "{}+{}:{}:{}:{}.{:09}",
        env!("CARGO_PKG_VERSION"),
        file.dev(),
        file.ino(),
        file.size(),
        file.mtime(),
        file.mtime_nsec(),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_has_one_build_id_all_its_life() {
        assert_eq!(build_id().unwrap(), build_id().unwrap());
    }
}
