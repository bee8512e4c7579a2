use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::sync::Barrier;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use conduit_errors::Code;
use tempfile::TempDir;
use tokio::time::advance;
use tracing::{Level, Subscriber, span};

use super::*;
use crate::{Binding, Flaw, Rejected, Sealer};

const BINDING: Binding<'_> = Binding {
    server: "alpha",
    principal: None,
    method: "tools/call",
    params: b"{}",
};

const KEEP: Duration = Duration::from_mins(10);

/// A directory, and where a ring in it would be.
fn place() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("keys");
    (folder, path)
}

fn sealer(ring: &KeyRing) -> Sealer {
    Sealer::new(ring.clone(), KEEP)
}

fn seal(ring: &KeyRing) -> String {
    sealer(ring).seal(&BINDING, b"state").unwrap()
}

fn open(ring: &KeyRing, token: &str) -> Result<Vec<u8>, Rejected> {
    sealer(ring)
        .open(&BINDING, token)
        .map(|opened| opened.payload)
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

fn names_in(folder: &TempDir) -> Vec<String> {
    let entries = fs::read_dir(folder.path()).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.collect()
}

// Making a ring.

#[test]
fn a_missing_ring_is_made_and_closed_to_others() {
    let (folder, path) = place();

    let ring = KeyRing::open(&path).unwrap();

    assert_eq!(fs::metadata(&path).unwrap().mode() & 0o7777, 0o600);
    assert_eq!(names_in(&folder), ["keys"]);
    assert_eq!(ring.shared.keys.read().ids().len(), 1);
}

#[test]
fn a_ring_that_is_there_is_used() {
    let (_folder, path) = place();
    let token = seal(&KeyRing::open(&path).unwrap());

    let again = KeyRing::open(&path).unwrap();

    assert_eq!(open(&again, &token).unwrap(), b"state");
}

#[test]
fn of_many_who_make_a_ring_at_once_all_have_the_same() {
    let (folder, path) = place();
    let start = Barrier::new(8);

    let tokens: Vec<_> = thread::scope(|scope| {
        let threads: Vec<_> = (0..8)
            .map(|_| {
                scope.spawn(|| {
                    start.wait();
                    seal(&KeyRing::open(&path).unwrap())
                })
            })
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .collect()
    });

    let ring = KeyRing::open(&path).unwrap();
    assert_eq!(ring.shared.keys.read().ids().len(), 1);
    for token in tokens {
        assert_eq!(open(&ring, &token).unwrap(), b"state");
    }
    assert_eq!(names_in(&folder), ["keys"]);
}

#[test]
fn two_ephemeral_rings_have_nothing_in_common() {
    let token = seal(&KeyRing::ephemeral());

    let outcome = open(&KeyRing::ephemeral(), &token);

    assert_eq!(outcome, Err(Rejected::UnknownKey));
}

// Refusing one.

#[test]
fn a_directory_that_is_missing_is_not_made() {
    let (folder, _) = place();

    let error = KeyRing::open(folder.path().join("gone/keys")).unwrap_err();

    assert!(matches!(error, Error::Write { .. }), "{error:?}");
    assert_eq!(error.code().exit_status(), 73);
}

#[test]
fn a_ring_that_others_may_use_is_refused_with_its_mode() {
    for mode in [0o640, 0o604, 0o620, 0o666] {
        let (_folder, path) = place();
        KeyRing::open(&path).unwrap();
        set_mode(&path, mode);

        let error = KeyRing::open(&path).unwrap_err();

        assert_eq!(error.code(), Code::KEYS_UNUSABLE);
        let expected = format!(
            "the key ring `{}` has mode {mode:04o}: it must be closed to others, such as 0600",
            path.display()
        );
        assert_eq!(error.to_string(), expected);
    }
}

#[test]
fn a_ring_that_may_only_be_read_is_used() {
    let (_folder, path) = place();
    KeyRing::open(&path).unwrap();
    set_mode(&path, 0o400);

    assert!(KeyRing::open(&path).is_ok());
}

#[test]
fn a_damaged_ring_is_refused_with_the_line_and_without_its_content() {
    let (_folder, path) = place();
    KeyRing::open(&path).unwrap();
    let mut text = fs::read_to_string(&path).unwrap();
    text.push_str("hunter22 1 hunter2\n");
    fs::write(&path, &text).unwrap();

    let error = KeyRing::open(&path).unwrap_err();

    assert!(!format!("{error} {error:?}").contains("hunter"));
    let Error::Line { line, flaw, .. } = error else {
        panic!("{error:?}");
    };
    assert_eq!((line, flaw), (4, Flaw::Id));
}

#[test]
fn a_file_that_is_too_large_is_no_ring() {
    let (_folder, path) = place();
    KeyRing::open(&path).unwrap();
    fs::write(&path, vec![b'#'; 16 * 1024 + 1]).unwrap();

    let error = KeyRing::open(&path).unwrap_err();

    assert!(matches!(error, Error::TooLarge { .. }), "{error:?}");
}

#[test]
fn a_ring_that_is_not_there_cannot_be_rotated() {
    let (folder, path) = place();

    let error = KeyRing::rotate(&path, KEEP).unwrap_err();

    assert!(matches!(error, Error::Read { .. }), "{error:?}");
    assert!(names_in(&folder).is_empty());
}

// Rotating one.

#[test]
fn a_rotated_ring_opens_what_it_sealed_before() {
    let (folder, path) = place();
    let token = seal(&KeyRing::open(&path).unwrap());

    let rotated = KeyRing::rotate(&path, KEEP).unwrap();

    let ring = KeyRing::open(&path).unwrap();
    assert_eq!(open(&ring, &token).unwrap(), b"state");
    assert_eq!(ring.newest().id, rotated.id);
    assert_eq!(fs::metadata(&path).unwrap().mode() & 0o7777, 0o600);
    assert_eq!(names_in(&folder), ["keys"]);
}

#[test]
fn what_a_dropped_key_sealed_does_not_open() {
    let (_folder, path) = place();
    let token = seal(&KeyRing::open(&path).unwrap());

    for _ in 0..MOST_KEYS {
        KeyRing::rotate(&path, KEEP).unwrap();
    }

    let ring = KeyRing::open(&path).unwrap();
    assert_eq!(open(&ring, &token), Err(Rejected::UnknownKey));
}

#[test]
fn a_rotation_that_was_killed_does_not_stop_the_next_one() {
    let (folder, path) = place();
    KeyRing::open(&path).unwrap();
    fs::write(folder.path().join("keys.new"), "half").unwrap();

    KeyRing::rotate(&path, KEEP).unwrap();

    assert_eq!(names_in(&folder), ["keys"]);
}

#[test]
fn no_rotation_is_lost_when_many_happen_at_once() {
    let (_folder, path) = place();
    KeyRing::open(&path).unwrap();

    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| KeyRing::rotate(&path, KEEP).unwrap());
        }
    });

    let ring = KeyRing::open(&path).unwrap();
    assert_eq!(ring.shared.keys.read().ids().len(), 9);
}

// Following a rotation. Two rings of one path are what two processes have.

#[tokio::test(start_paused = true)]
async fn a_token_of_a_new_key_opens_at_once_in_another_process() {
    let (_folder, path) = place();
    let ring = KeyRing::open(&path).unwrap();
    KeyRing::rotate(&path, KEEP).unwrap();
    let token = seal(&KeyRing::open(&path).unwrap());

    assert_eq!(open(&ring, &token).unwrap(), b"state");
}

#[tokio::test(start_paused = true)]
async fn a_process_seals_with_a_new_key_after_a_second() {
    let (_folder, path) = place();
    let ring = KeyRing::open(&path).unwrap();
    let before = ring.newest().id;
    let rotated = KeyRing::rotate(&path, KEEP).unwrap();

    advance(PAUSE - Duration::from_millis(1)).await;
    assert_eq!(ring.newest().id, before);

    advance(Duration::from_millis(1)).await;
    assert_eq!(ring.newest().id, rotated.id);
}

#[tokio::test(start_paused = true)]
async fn a_key_that_was_taken_away_opens_nothing_after_a_second() {
    let (folder, path) = place();
    let ring = KeyRing::open(&path).unwrap();
    let token = seal(&ring);
    let other = folder.path().join("other");
    KeyRing::open(&other).unwrap();
    fs::rename(&other, &path).unwrap();

    advance(PAUSE).await;

    assert_eq!(open(&ring, &token), Err(Rejected::UnknownKey));
}

#[tokio::test(start_paused = true)]
async fn unknown_keys_make_a_process_look_ten_times_a_second_at_most() {
    let (_folder, path) = place();
    let ring = KeyRing::open(&path).unwrap();
    let foreign = seal(&KeyRing::ephemeral());
    assert_eq!(open(&ring, &foreign), Err(Rejected::UnknownKey));
    KeyRing::rotate(&path, KEEP).unwrap();
    let token = seal(&KeyRing::open(&path).unwrap());

    assert_eq!(open(&ring, &token), Err(Rejected::UnknownKey));

    advance(UNKNOWN_PAUSE).await;
    assert_eq!(open(&ring, &token).unwrap(), b"state");
}

#[tokio::test(start_paused = true)]
async fn a_ring_that_is_broken_or_gone_leaves_the_keys_as_they_were() {
    let (_folder, path) = place();
    let ring = KeyRing::open(&path).unwrap();
    let token = seal(&ring);
    let sound = fs::read(&path).unwrap();

    fs::write(&path, "broken").unwrap();
    advance(PAUSE).await;
    seal(&ring);
    assert_eq!(open(&ring, &token).unwrap(), b"state");

    fs::remove_file(&path).unwrap();
    advance(PAUSE).await;
    seal(&ring);
    assert_eq!(open(&ring, &token).unwrap(), b"state");

    fs::write(&path, sound).unwrap();
    set_mode(&path, 0o600);
    let rotated = KeyRing::rotate(&path, KEEP).unwrap();
    advance(PAUSE).await;
    assert_eq!(ring.newest().id, rotated.id);
}

#[tokio::test(start_paused = true)]
async fn a_ring_that_was_closed_to_others_again_is_read_again() {
    let (_folder, path) = place();
    let ring = KeyRing::open(&path).unwrap();
    let rotated = KeyRing::rotate(&path, KEEP).unwrap();
    set_mode(&path, 0o644);
    advance(PAUSE).await;
    assert_ne!(ring.newest().id, rotated.id);

    set_mode(&path, 0o600);
    advance(PAUSE).await;

    assert_eq!(ring.newest().id, rotated.id);
}

#[tokio::test(start_paused = true)]
async fn a_broken_ring_is_logged_once() {
    let (_folder, path) = place();
    let ring = KeyRing::open(&path).unwrap();
    let errors = Arc::new(AtomicUsize::new(0));
    let _guard = tracing::subscriber::set_default(Errors(Arc::clone(&errors)));
    fs::write(&path, "broken").unwrap();

    for _ in 0..3 {
        advance(PAUSE).await;
        ring.newest();
    }

    assert_eq!(errors.load(Ordering::Relaxed), 1);
}

/// Counts the lines at level error.
struct Errors(Arc<AtomicUsize>);

impl Subscriber for Errors {
    fn enabled(&self, metadata: &tracing::Metadata<'_>) -> bool {
        *metadata.level() == Level::ERROR
    }

    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1)
    }

    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}

    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}

    fn event(&self, _: &tracing::Event<'_>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    fn enter(&self, _: &span::Id) {}

    fn exit(&self, _: &span::Id) {}
}
