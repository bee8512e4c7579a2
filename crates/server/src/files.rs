//! The files of a folder, as resources.

use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::path::{Component, Path, PathBuf};

use conduit_protocol::{Outcome, ReadResult};

use crate::{IntoContents, TemplateBuilder, ToolError, blocking_template};

/// The largest file that is served, in bytes.
const MAX_FILE: usize = 16 * 1024 * 1024;

/// What is said of one that is larger.
const TOO_LARGE: &str = "the file is too large to be read, it has more than 16 MiB";

/// Serves the files of a folder: what the only variable of a [`UriTemplate`] stands
/// for is a path in it.
///
/// Nothing outside of the folder is ever read, whatever a client writes: neither by
/// `..`, nor by an absolute path, nor by a symbolic link that leads out of it. A file
/// that is UTF-8 is text, any other is bytes; files of more than 16 MiB are refused.
/// Say with [`mime_type`](TemplateBuilder::mime_type) what they all are.
///
/// ```
/// use conduit_server::files;
///
/// let handbook = files("handbook:///{page}", "handbook", "/srv/handbook").mime_type("text/markdown");
/// ```
///
/// [`UriTemplate`]: crate::UriTemplate
pub fn files(
    uri_template: impl Into<String>,
    name: impl Into<String>,
    folder: impl Into<PathBuf>,
) -> TemplateBuilder {
    let folder = folder.into();
    blocking_template(uri_template, name, move |path: String, _| {
        read(&folder, &path)
    })
}

// === Behind the handle ===

/// The bytes of a file.
struct Contents(Vec<u8>);

impl IntoContents for Contents {
    fn into_contents(self, uri: &str, mime_type: Option<&str>) -> Option<Outcome<ReadResult>> {
        match String::from_utf8(self.0) {
            Ok(text) => text.into_contents(uri, mime_type),
            Err(error) => error.into_bytes().into_contents(uri, mime_type),
        }
    }
}

fn read(folder: &Path, path: &str) -> Result<Option<Contents>, ToolError> {
    if !stays_inside(path) {
        return Ok(None);
    }
    let found = find(folder, path).and_then(|found| match found {
        Some(file) => read_file(&file),
        None => Ok(None),
    });
    match found {
        Ok(Some(bytes)) if bytes.len() > MAX_FILE => Err(ToolError::new(TOO_LARGE)),
        Ok(bytes) => Ok(bytes.map(Contents)),
        Err(error) if is_absence(&error) => Ok(None),
        Err(error) => {
            tracing::warn!(folder = %folder.display(), path, %error, "file not read");
            Err(ToolError::new("the file cannot be read"))
        }
    }
}

/// Whether a path leads down only.
fn stays_inside(path: &str) -> bool {
    let is_name = |part| matches!(part, Component::Normal(_));
    !path.contains('\0') && Path::new(path).components().all(is_name)
}

/// Follows symbolic links, as long as they stay in the folder.
fn find(folder: &Path, path: &str) -> io::Result<Option<PathBuf>> {
    let folder = folder.canonicalize()?;
    let file = folder.join(path).canonicalize()?;
    let is_file = file.starts_with(&folder) && file.metadata()?.is_file();
    Ok(is_file.then_some(file))
}

/// Reads a file to its end, or to one byte too many.
fn read_file(file: &Path) -> io::Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    let most = u64::try_from(MAX_FILE)
        .unwrap_or(u64::MAX)
        .saturating_add(1);
    File::open(file)?.take(most).read_to_end(&mut bytes)?;
    Ok(Some(bytes))
}

fn is_absence(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::NotFound | ErrorKind::NotADirectory | ErrorKind::InvalidFilename
    )
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use tempfile::TempDir;

    use super::*;
    use crate::Server;
    use crate::trial::{builder, built, context, refusal};

    /// A folder with a file beside it.
    fn folder() -> (TempDir, PathBuf) {
        let around = TempDir::new().expect("a folder");
        let folder = around.path().join("root");
        fs::create_dir_all(folder.join("deep")).expect("folders");
        fs::write(around.path().join("secret"), "secret").expect("a file");
        fs::write(folder.join("a.txt"), "text").expect("a file");
        fs::write(folder.join("deep/b.bin"), [0xff]).expect("a file");
        (around, folder)
    }

    #[track_caller]
    fn bytes(folder: &Path, path: &str) -> Option<Vec<u8>> {
        let found = read(folder, path).expect("no trouble");
        found.map(|contents| contents.0)
    }

    #[test]
    fn a_file_of_the_folder_is_read() {
        let (_around, folder) = folder();

        assert_eq!(bytes(&folder, "a.txt").as_deref(), Some(&b"text"[..]));
        assert_eq!(bytes(&folder, "deep/b.bin").as_deref(), Some(&[0xff][..]));
    }

    #[test]
    fn nothing_outside_of_the_folder_is_read() {
        let (around, folder) = folder();
        let outside = around.path().join("secret").display().to_string();

        for path in [
            "..",
            ".",
            "../secret",
            "deep/../../secret",
            "/etc/passwd",
            &outside,
            "a.txt\0",
            "\0",
        ] {
            assert_eq!(bytes(&folder, path), None, "{path:?}");
        }
    }

    #[tokio::test]
    async fn no_uri_leads_out_of_the_folder() {
        let (_around, folder) = folder();
        let toolbox = built(builder().template(files("doc:///{file}", "doc", folder)));
        let catalog = toolbox.catalog();

        for uri in [
            "doc:///..",
            "doc:///%2e%2e",
            "doc:///..%2Fsecret",
            "doc:///deep%2F..%2F..%2Fsecret",
            "doc:///%2Fetc%2Fpasswd",
            "doc:///a.txt%00",
            "doc:///%00",
        ] {
            let error = refusal(catalog.read_resource(uri, context())).await;
            assert!(error.message.contains("not found"), "{uri}: {error}");
        }
        assert_eq!(
            crate::trial::read(&catalog, "doc:///a.txt").await[0]["text"],
            "text"
        );
        let deep = crate::trial::read(&catalog, "doc:///deep%2Fb.bin").await;
        assert_eq!(deep[0]["blob"], "/w==");
    }

    #[test]
    fn a_link_out_of_the_folder_is_no_file_of_it() {
        let (around, folder) = folder();
        symlink(around.path().join("secret"), folder.join("out")).expect("a link");
        symlink(around.path(), folder.join("up")).expect("a link");
        symlink("a.txt", folder.join("in")).expect("a link");

        assert_eq!(bytes(&folder, "out"), None);
        assert_eq!(bytes(&folder, "up/secret"), None);
        assert_eq!(bytes(&folder, "in").as_deref(), Some(&b"text"[..]));
    }

    #[test]
    fn what_is_not_there_or_no_file_is_no_resource() {
        let (_around, folder) = folder();

        for path in ["b.txt", "deep", "a.txt/b", &"x".repeat(5000)] {
            assert_eq!(bytes(&folder, path), None, "{path}");
        }
    }

    #[test]
    fn a_file_that_is_too_large_is_refused() {
        let (_around, folder) = folder();
        let file = File::create(folder.join("large")).expect("a file");
        file.set_len(16 * 1024 * 1024 + 1).expect("room");

        assert!(read(&folder, "large").is_err());
    }
}
