//! Starts a binary with folders of its own, and leaves nothing of it behind.

use std::fs::{self, File};
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use tempfile::TempDir;
use tokio::process::{Child, Command};
use tokio::time::timeout;

use crate::{PATIENCE, process, wait_until};

/// What is started, and how.
#[derive(Clone, Debug)]
pub struct Options {
    program: PathBuf,
    arguments: Vec<String>,
    environment: Vec<(String, String)>,
    config: Option<String>,
    state_dir: Option<PathBuf>,
    listen: String,
    admin: String,
    open_files: Option<u32>,
}

/// A started process that has not said yet whether it is up.
#[derive(Debug)]
pub struct Launch {
    child: Child,
    folder: TempDir,
    state_dir: PathBuf,
}

/// How a process ended.
#[derive(Clone, Debug)]
pub struct Ending {
    /// The exit status; nothing when a signal ended it.
    pub status: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// What it printed on standard output.
    pub stdout: String,
    /// What it printed on standard error.
    pub stderr: String,
}

/// Returns the path of one of our executables, which lies beside the test's own.
///
/// Panics when it has not been built: a test package does not build the binaries
/// of other packages by itself.
#[must_use]
pub fn binary(name: &str) -> PathBuf {
    let test = std::env::current_exe().expect("the test's own path");
    let profile = test
        .parent()
        .and_then(Path::parent)
        .expect("target/PROFILE/deps/TEST");
    let path = profile.join(name);
    assert!(
        path.is_file(),
        "{} is missing: run `cargo build --workspace` first",
        path.display()
    );
    path
}

impl Options {
    /// Starts the stock binary with the demo server.
    #[must_use]
    pub fn conduit() -> Self {
        Self::program(binary("conduit"))
    }

    /// Starts the fixture server.
    #[must_use]
    pub fn fixture() -> Self {
        Self::program(binary("fixture-server"))
    }

    /// Starts any executable that has the same commands.
    #[must_use]
    pub fn program(program: PathBuf) -> Self {
        Self {
            program,
            arguments: vec!["up".to_owned()],
            environment: Vec::new(),
            config: None,
            state_dir: None,
            listen: "127.0.0.1:0".to_owned(),
            admin: "127.0.0.1:0".to_owned(),
            open_files: None,
        }
    }

    /// Adds an argument.
    #[must_use]
    pub fn argument(mut self, argument: &str) -> Self {
        self.arguments.push(argument.to_owned());
        self
    }

    /// Sets an environment variable.
    #[must_use]
    pub fn environment(mut self, name: &str, value: &str) -> Self {
        self.environment.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Runs that many gateways.
    #[must_use]
    pub fn gateways(self, count: usize) -> Self {
        self.environment("CONDUIT_GATEWAY_COUNT", &count.to_string())
    }

    /// Writes a configuration file and starts with it.
    #[must_use]
    pub fn config(self, text: &str) -> Self {
        Self {
            config: Some(text.to_owned()),
            ..self
        }
    }

    /// Uses this state directory instead of one of its own.
    #[must_use]
    pub fn state_dir(self, path: &Path) -> Self {
        Self {
            state_dir: Some(path.to_owned()),
            ..self
        }
    }

    /// Serves MCP at this address instead of a free port.
    #[must_use]
    pub fn listen(self, address: &str) -> Self {
        Self {
            listen: address.to_owned(),
            ..self
        }
    }

    /// Serves the admin port at this address instead of a free one.
    #[must_use]
    pub fn admin(self, address: &str) -> Self {
        Self {
            admin: address.to_owned(),
            ..self
        }
    }

    /// Lets each process open that many files, and no more.
    #[must_use]
    pub fn open_files(self, limit: u32) -> Self {
        Self {
            open_files: Some(limit),
            ..self
        }
    }

    /// Starts it.
    #[must_use]
    pub fn launch(&self) -> Launch {
        Launch::new(self)
    }

    /// Starts it, expecting that it ends by itself, and returns how.
    ///
    /// Panics when it goes on, or leaves a process behind.
    pub async fn ending(&self) -> Ending {
        self.launch().ending(PATIENCE).await
    }
}

impl Launch {
    fn new(options: &Options) -> Self {
        let folder = tempfile::Builder::new()
            .prefix("conduit-test-")
            .tempdir()
            .expect("a temporary folder");
        let state_dir = options
            .state_dir
            .clone()
            .unwrap_or_else(|| folder.path().join("state"));
        let mut command = options.command();
        command
            .args(&options.arguments)
            .args([
                "--listen",
                &options.listen,
                "--admin",
                &options.admin,
                "--state-dir",
            ])
            .arg(&state_dir)
            .env("TESTKIT_FOLDER", folder.path())
            .envs(
                options
                    .environment
                    .iter()
                    .map(|(name, value)| (name, value)),
            )
            .current_dir(folder.path())
            .stdin(Stdio::null())
            .stdout(File::create(folder.path().join("stdout")).expect("a file"))
            .stderr(File::create(folder.path().join("stderr")).expect("a file"));
        if let Some(text) = &options.config {
            let path = folder.path().join("conduit.toml");
            fs::write(&path, text).expect("a file");
            command.arg("--config").arg(path);
        }
        let child = command
            .spawn()
            .unwrap_or_else(|problem| panic!("{}: {problem}", options.program.display()));
        Self {
            child,
            folder,
            state_dir,
        }
    }

    /// Returns the process id of the supervisor.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.child.id().expect("it has not been waited for")
    }

    /// Returns the state directory.
    #[must_use]
    pub fn state_dir(&self) -> &Path {
        &self.state_dir
    }

    /// Returns what it has printed on standard output so far.
    #[must_use]
    pub fn stdout(&self) -> String {
        self.printed("stdout")
    }

    /// Returns what it and its children have printed on standard error so far.
    #[must_use]
    pub fn stderr(&self) -> String {
        self.printed("stderr")
    }

    /// Returns the living processes of this tree.
    #[must_use]
    pub fn processes(&self) -> Vec<u32> {
        process::bearing(self.mark())
    }

    /// Sends a signal to the supervisor.
    pub fn signal(&self, signal: process::Signal) {
        if let Some(pid) = self.child.id() {
            process::signal(pid, signal);
        }
    }

    /// Returns how it ended if it has.
    pub fn ended(&mut self) -> Option<Ending> {
        let status = self.child.try_wait().expect("a child of ours")?;
        Some(self.ending_with(status))
    }

    /// Waits until the supervisor and every child of it have ended.
    pub async fn ending(mut self, within: Duration) -> Ending {
        let Ok(status) = timeout(within, self.child.wait()).await else {
            panic!("it goes on after {within:?}\n{self}");
        };
        let ending = self.ending_with(status.expect("a child of ours"));
        assert_eq!(self.left_behind(), "", "left running after {ending:?}");
        ending
    }

    /// Waits until every process of the tree has ended, the supervisor dead or not.
    pub async fn everything_ended(&self, within: Duration) -> Duration {
        let ((), took) = wait_until("every process of the tree to end", within, async || {
            self.processes().is_empty().then_some(())
        })
        .await;
        took
    }
}

impl std::fmt::Display for Launch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "--- stdout\n{}--- stderr\n{}",
            self.stdout(),
            self.stderr()
        )
    }
}

impl Drop for Launch {
    fn drop(&mut self) {
        if std::thread::panicking() {
            #[expect(
                clippy::print_stderr,
                reason = "a failed test shows what the processes said"
            )]
            {
                eprintln!("{self}");
            }
        }
        // The supervisor first, so that nobody is replaced; bounded, as a drop must be.
        if let Some(pid) = self.child.id() {
            process::kill_and_reap(pid);
        }
        for _ in 0..16 {
            let left = self.processes();
            if left.is_empty() {
                return;
            }
            left.into_iter().for_each(process::kill_and_reap);
        }
    }
}

// === Behind the launch ===

impl Options {
    fn command(&self) -> Command {
        let Some(limit) = self.open_files else {
            return Command::new(&self.program);
        };
        let mut shell = Command::new("/bin/sh");
        shell
            .args(["-c", &format!("ulimit -n {limit} && exec \"$0\" \"$@\"")])
            .arg(&self.program);
        shell
    }
}

impl Launch {
    fn mark(&self) -> &str {
        self.folder.path().to_str().expect("a plain path")
    }

    fn printed(&self, file: &str) -> String {
        let raw = fs::read(self.folder.path().join(file)).unwrap_or_default();
        String::from_utf8_lossy(&raw).into_owned()
    }

    fn ending_with(&self, status: std::process::ExitStatus) -> Ending {
        let (stdout, stderr) = (self.stdout(), self.stderr());
        Ending {
            status: status.code(),
            signal: status.signal(),
            stdout,
            stderr,
        }
    }

    fn left_behind(&self) -> String {
        let name = |pid: u32| format!("{pid} {}", process::command_line(pid));
        self.processes()
            .into_iter()
            .map(name)
            .collect::<Vec<_>>()
            .join("\n")
    }
}
