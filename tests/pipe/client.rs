//! The client's end of the pipes.

use std::collections::HashMap;
use std::process::Stdio;

use conduit_testkit::{PATIENCE, binary, process};
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::time::timeout;

/// A running `conduit stdio`.
pub(crate) struct Pipe {
    child: Child,
    input: Option<ChildStdin>,
    output: Lines<BufReader<ChildStdout>>,
}

impl Pipe {
    pub(crate) fn start() -> Self {
        let mut child = Command::new(binary("conduit"))
            .arg("stdio")
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
        }
    }

    pub(crate) async fn write(&mut self, bytes: &[u8]) {
        let input = self.input.as_mut().expect("the input is open");
        input.write_all(bytes).await.expect("it reads");
    }

    pub(crate) async fn say(&mut self, message: &Value) {
        self.write(format!("{message}\n").as_bytes()).await;
    }

    /// Waits for so many answers, and returns them by the JSON text of their id.
    pub(crate) async fn answers(&mut self, count: usize) -> HashMap<String, Value> {
        let mut answers = HashMap::new();
        while answers.len() < count {
            let line = timeout(PATIENCE, self.output.next_line())
                .await
                .expect("in time");
            let line = line.expect("readable").expect("an answer");
            let answer: Value = serde_json::from_str(&line).expect("JSON");
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
                lines.push(serde_json::from_str(&line).expect("nothing but JSON"));
            }
        };
        timeout(PATIENCE, reading).await.expect("the output ends");
        self.ended().await;
        lines
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
