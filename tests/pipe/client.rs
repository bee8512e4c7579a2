//! The client's end of the pipes; what arrives is held against the schema of its version.

use std::collections::HashMap;
use std::process::Stdio;

use conduit_testkit::{PATIENCE, Version, binary, check, process};
use serde_json::Value;
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::time::timeout;

/// A running `conduit stdio`, or that of another server.
pub(crate) struct Pipe {
    child: Child,
    /// Where it runs.
    _folder: TempDir,
    input: Option<ChildStdin>,
    output: Lines<BufReader<ChildStdout>>,
    /// The method and the version of each request that was said, by the JSON text of its
    /// id.
    said: HashMap<String, (String, Version)>,
}

impl Pipe {
    pub(crate) fn start() -> Self {
        Self::of("conduit")
    }

    /// Starts the fixture server.
    pub(crate) fn fixture() -> Self {
        Self::of("fixture-server")
    }

    fn of(program: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let mut child = Command::new(binary(program))
            .arg("stdio")
            .current_dir(folder.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .expect("the binary starts");
        let output = child.stdout.take().expect("its output");
        Self {
            input: child.stdin.take(),
            output: BufReader::new(output).lines(),
            child,
            _folder: folder,
            said: HashMap::new(),
        }
    }

    pub(crate) async fn write(&mut self, bytes: &[u8]) {
        let input = self.input.as_mut().expect("the input is open");
        input.write_all(bytes).await.expect("it reads");
    }

    pub(crate) async fn say(&mut self, message: &Value) {
        if let (Some(id), Some(method)) = (message.get("id"), message["method"].as_str()) {
            let meta = &message["params"]["_meta"];
            let version = match meta.get("io.modelcontextprotocol/protocolVersion") {
                Some(_) => Version::July2026,
                None => Version::November2025,
            };
            self.said
                .insert(id.to_string(), (method.to_owned(), version));
        }
        self.write(format!("{message}\n").as_bytes()).await;
    }

    /// Waits for the next message.
    pub(crate) async fn next(&mut self) -> Value {
        let line = timeout(PATIENCE, self.output.next_line())
            .await
            .expect("in time");
        self.checked(&line.expect("readable").expect("a message"))
    }

    /// Waits for so many answers, and returns them by the JSON text of their id.
    pub(crate) async fn answers(&mut self, count: usize) -> HashMap<String, Value> {
        let mut answers = HashMap::new();
        while answers.len() < count {
            let answer = self.next().await;
            if let Some(id) = answer.get("id") {
                answers.insert(id.to_string(), answer);
            }
        }
        answers
    }

    /// Closes the input.
    pub(crate) fn close(&mut self) {
        drop(self.input.take());
    }

    /// Closes the input, and returns every line that was not read yet, once the
    /// process has ended with status 0.
    pub(crate) async fn end(mut self) -> Vec<Value> {
        drop(self.input.take());
        let mut lines = Vec::new();
        let reading = async {
            while let Some(line) = self.output.next_line().await.expect("readable") {
                lines.push(self.checked(&line));
            }
        };
        timeout(PATIENCE, reading).await.expect("the output ends");
        self.ended().await;
        lines
    }

    fn checked(&self, line: &str) -> Value {
        let message: Value = serde_json::from_str(line).expect("nothing but JSON");
        let id = message.get("id").map(Value::to_string);
        let request = id.and_then(|id| self.said.get(&id));
        match request {
            Some((method, version)) => check(&message, *version, Some(method)),
            None => check(&message, Version::November2025, None),
        }
        message
    }

    pub(crate) fn terminate(&self) {
        let pid = self.child.id().expect("it runs");
        process::signal(pid, process::Signal::TERM);
    }

    /// Waits until the process has ended with status 0.
    pub(crate) async fn ended(mut self) {
        let status = timeout(PATIENCE, self.child.wait()).await.expect("it ends");
        assert!(status.expect("a status").success());
    }
}
