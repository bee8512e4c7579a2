//! Tools that become tasks, and prove that nobody works on one of them while somebody
//! else does.
//!
//! Whoever works holds a lock on a file that is named after the task. The system takes
//! the lock back when the process dies and not before: one that is only stopped keeps
//! it. Whoever finds it held writes that to the file `violations`. Without a folder for
//! these files nothing is proved, and no benchmark is slowed down.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process;
use std::time::Duration;

use conduit::schemars::JsonSchema;
use conduit::serde::Deserialize;
use conduit::{Cancelled, Context, TaskSupport, ToolBuilder, ToolError, form, tool};

/// The environment variable with the folder of the proofs.
const FOLDER: &str = "FIXTURE_PROOFS";

#[derive(Deserialize, JsonSchema)]
#[serde(crate = "conduit::serde")]
#[schemars(crate = "conduit::schemars")]
struct Job {
    /// What to answer with.
    tag: String,
    /// How long it takes, once there is nothing to ask, in milliseconds.
    #[serde(default)]
    #[schemars(range(max = 86_400_000))]
    ms: u64,
}

#[derive(Deserialize, JsonSchema)]
#[serde(crate = "conduit::serde")]
#[schemars(crate = "conduit::schemars")]
pub(crate) struct Word {
    pub(crate) word: String,
}

/// The right to work on a task, as long as this lives.
struct Turn {
    mark: String,
    file: File,
}

pub(crate) fn tools() -> [ToolBuilder; 3] {
    [
        tool(
            "single_task",
            "Works as a task that is not started twice.",
            work_once,
        )
        .task(TaskSupport::Optional),
        tool(
            "sturdy_task",
            "Works as a task that is started again.",
            work,
        )
        .task(TaskSupport::Optional)
        .restartable(),
        tool(
            "asking_task",
            "Asks for a word, then works, and is started again.",
            ask,
        )
        .task(TaskSupport::Optional)
        .restartable(),
    ]
}

async fn work_once(job: Job, context: Context) -> Result<String, ToolError> {
    let turn = Turn::take(&context)?;
    if turn.as_ref().is_some_and(Turn::is_second) {
        accuse(&context, "was started twice");
    }
    job.work(&context).await?;
    Ok(job.tag)
}

async fn work(job: Job, context: Context) -> Result<String, ToolError> {
    let _turn = Turn::take(&context)?;
    job.work(&context).await?;
    Ok(job.tag)
}

async fn ask(job: Job, context: Context) -> Result<String, ToolError> {
    let _turn = Turn::take(&context)?;
    let question = form::<Word>("word", format!("What is the word of {}?", job.tag));
    let word = context.ask(question)?.accepted()?.word;
    job.work(&context).await?;
    Ok(format!("{}: {word}", job.tag))
}

impl Job {
    async fn work(&self, context: &Context) -> Result<(), Cancelled> {
        context.sleep(Duration::from_millis(self.ms)).await
    }
}

impl Turn {
    /// Takes the turn of the task as which the callback runs; nothing where nothing is
    /// to be proved.
    fn take(context: &Context) -> Result<Option<Self>, ToolError> {
        let (Some(folder), Some(task)) = (folder(), context.task()) else {
            return Ok(None);
        };
        let mark = format!("attempt {} in process {}", task.attempt(), process::id());
        match Self::of(&folder.join(task.id()), mark) {
            Ok(turn) => Ok(Some(turn)),
            Err(TryLockError::WouldBlock) => {
                accuse(context, "is worked on by somebody else");
                Err(ToolError::new("somebody else works on this task"))
            }
            Err(TryLockError::Error(error)) => {
                accuse(context, &format!("cannot be proved: {error}"));
                Err(ToolError::new("there is no proof"))
            }
        }
    }

    fn of(path: &Path, mark: String) -> Result<Self, TryLockError> {
        let file = OpenOptions::new().create(true).append(true).open(path);
        let mut turn = Self {
            file: file.map_err(TryLockError::Error)?,
            mark,
        };
        turn.file.try_lock()?;
        turn.note("begins").map_err(TryLockError::Error)?;
        Ok(turn)
    }

    /// Tells whether there was a turn before.
    fn is_second(&self) -> bool {
        let first = format!("{} begins\n", self.mark).len();
        let written = self.file.metadata().map(|file| file.len());
        written.is_ok_and(|written| written > u64::try_from(first).unwrap_or(u64::MAX))
    }

    fn note(&mut self, what: &str) -> io::Result<()> {
        // One write, so that no other one is in the midst of it.
        self.file
            .write_all(format!("{} {what}\n", self.mark).as_bytes())
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        // It only tells a reader more.
        drop(self.note("ends"));
    }
}

/// Writes what should never be so where the test finds it.
fn accuse(context: &Context, what: &str) {
    let (Some(folder), Some(task)) = (folder(), context.task()) else {
        return;
    };
    let (attempt, process) = (task.attempt(), process::id());
    let line = format!(
        "{} {what}: attempt {attempt} in process {process}\n",
        task.id()
    );
    let violations = OpenOptions::new()
        .create(true)
        .append(true)
        .open(folder.join("violations"));
    let written = violations.and_then(|mut file| file.write_all(line.as_bytes()));
    // A folder that cannot be written to lets nobody take a turn either.
    drop(written);
}

#[expect(
    clippy::disallowed_methods,
    reason = "it is the test's to say, and no setting of the product"
)]
fn folder() -> Option<PathBuf> {
    std::env::var_os(FOLDER).map(PathBuf::from)
}
