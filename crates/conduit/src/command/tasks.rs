//! `conduit tasks`: what the store keeps, whether or not it runs.
//!
//! Reading goes to the database itself. A task that is to be cancelled belongs to the
//! store as long as one runs, so then the store is asked.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use conduit_config::{Settings, Sources, load};
use conduit_link::{
    Answer, CallError, Lane, Links, Message, Options, Slot, TaskAnswer, TaskOwner, TaskQuestion,
    TaskRecord, TaskStatus, ToStore,
};
use conduit_store::{Archive, Cancelled, Filter, Shown};
use jiff::Timestamp;
use tokio::time::Instant;
use uuid::Uuid;

use super::{Error, desk};
use crate::args::Tasks;
use crate::failure::Failure;
use crate::role::{block_on, settings};

/// Does what is to be done, and returns what there is to say.
pub(crate) fn answer(sources: &Sources, wanted: &Tasks) -> Result<String, Failure> {
    let settings = load(sources)?.settings;
    let path = settings::database(&settings);
    if !path.exists() {
        return Err(Error::NoDatabase { path }.into());
    }
    let open = || Archive::open(&path).map_err(Failure::coded("cannot look at the tasks"));
    match wanted {
        Tasks::Ls {
            status,
            server,
            limit,
        } => {
            let filter = Filter {
                status: status.map(Into::into),
                server: server.clone(),
            };
            list(&open()?, &filter, *limit)
        }
        Tasks::Show { id } => match open()?.show(*id).map_err(unreadable)? {
            Some(shown) => Ok(show(&shown)),
            None => Err(Error::UnknownTask.into()),
        },
        Tasks::Cancel { id } => cancel(&settings, &path, *id),
        Tasks::Export { file } => {
            let export = open()?.export(file);
            export.map_err(|source| Error::Export { source })?;
            Ok(format!("exported to {}\n", file.display()))
        }
    }
}

// === Behind the answer ===

/// How many tasks are read at a time.
const PAGE: usize = 500;
/// How long a running store may take to answer.
const PATIENCE: Duration = Duration::from_secs(5);

fn unreadable(error: conduit_store::Error) -> Failure {
    Failure::coded("cannot look at the tasks")(error)
}

fn list(archive: &Archive, filter: &Filter, limit: usize) -> Result<String, Failure> {
    let mut answer = format!(
        "{:36}  {:14}  {:20}  {:19}  {}\n",
        "ID", "STATUS", "CREATED", "SERVER", "TOOL"
    );
    let (mut left, mut after) = (limit, None);
    while left > 0 {
        let page = archive.list(filter, left.min(PAGE), after.as_deref());
        let page = page.map_err(unreadable)?;
        left = left.saturating_sub(page.tasks.len());
        for task in &page.tasks {
            let (status, created) = (word(task.status), time(task.created_ms));
            let (server, tool) = (plain(&task.server), plain(&task.tool));
            let line = format!(
                "{}  {status:14}  {created:20}  {server:19}  {tool}\n",
                task.id
            );
            answer.push_str(&line);
        }
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    if after.is_some() {
        answer.push_str("there are more, see --limit\n");
    }
    Ok(answer)
}

/// Shows neither what a task was called with nor what came of it: that is its client's.
fn show(shown: &Shown) -> String {
    let Shown {
        record,
        holder,
        leased_ms,
        attempt,
        attempts,
        input_bytes,
        journal_bytes,
        ..
    } = shown;
    let owner = match &record.owner {
        TaskOwner::Principal(name) => format!("principal {}", plain(name)),
        TaskOwner::Session(_) => "a session".to_owned(),
        TaskOwner::Bearer => "whoever knows its id".to_owned(),
    };
    let expires = record.ttl_ms.map_or_else(
        || "never".to_owned(),
        |ttl| time(record.created_ms.saturating_add(ttl)),
    );
    let held = match (holder, leased_ms) {
        (Some(slot), Some(since)) => format!("by {slot} since {}", time(*since)),
        (Some(slot), None) => format!("by {slot}"),
        (None, _) => "by nobody".to_owned(),
    };
    let questions: Vec<_> = record
        .questions
        .iter()
        .map(|question| plain(&question.key))
        .collect();
    let rows = [
        ("id", record.id.to_string()),
        ("status", word(record.status).to_owned()),
        ("message", plain(record.message.as_deref().unwrap_or("-"))),
        ("server", plain(&record.server)),
        ("tool", plain(&record.tool)),
        ("owner", owner),
        ("created", time(record.created_ms)),
        ("updated", time(record.updated_ms)),
        ("expires", expires),
        ("version", record.version.to_string()),
        ("held", held),
        ("started", format!("{attempt} of {attempts} times")),
        ("waits for", or_nothing(questions.join(", "))),
        (
            "kept",
            format!("{input_bytes} bytes of input, {journal_bytes} of journal"),
        ),
        (
            "outcome",
            match &record.outcome {
                Some(outcome) => format!("{} bytes", outcome.len()),
                None => "none yet".to_owned(),
            },
        ),
    ];
    rows.iter()
        .map(|(name, value)| format!("{name:10} {value}\n"))
        .collect()
}

fn cancel(settings: &Settings, path: &Path, id: Uuid) -> Result<String, Failure> {
    let cancelled = match Archive::cancel(path, id) {
        Err(conduit_store::Error::Busy { .. }) => block_on(ask_to_cancel(settings, id))?,
        done => done.map_err(Failure::coded("cannot cancel the task"))?,
    };
    match cancelled {
        None => Err(Error::UnknownTask.into()),
        Some(Cancelled {
            record,
            had_ended: true,
        }) => Ok(format!("it had ended: {}\n", word(record.status))),
        Some(_) => Ok("cancelled\n".to_owned()),
    }
}

/// Asks the store that runs.
async fn ask_to_cancel(settings: &Settings, id: Uuid) -> Result<Option<Cancelled>, Failure> {
    let build = conduit_link::build_id().map_err(Failure::of("cannot tell this build"))?;
    let (run_dir, life) = (settings.state.dir.join("run"), Uuid::new_v4());
    let options = Options::new(run_dir, desk::slot(life), life, build);
    let links = Links::start(options).map_err(Failure::coded("cannot reach the store"))?;
    let store = links.connect(Slot::STORE, Arc::new(|_link, _delivery| {}));
    let question = TaskQuestion::Cancel { id, asker: None };
    let until = Instant::now() + PATIENCE;
    let answered = loop {
        let left = until.saturating_duration_since(Instant::now());
        let question = Message::ToStore(ToStore::Task(question.clone()));
        match store.call(Lane::Control, question, left).await {
            Err(CallError::Broken) if !left.is_zero() => {}
            answered => break answered,
        }
    };
    links.stop(Duration::ZERO).await;
    match answered {
        Ok(Answer::Task(TaskAnswer::Cancelled { record, had_ended })) => {
            Ok(record.map(|record: TaskRecord| Cancelled { record, had_ended }))
        }
        Ok(_refused) => Err(Error::StoreRefused.into()),
        Err(error) => Err(Failure::of("cannot reach the store")(error)),
    }
}

const fn word(status: TaskStatus) -> &'static str {
    match status {
        TaskStatus::Working => "working",
        TaskStatus::InputRequired => "input_required",
        TaskStatus::Completed => "completed",
        TaskStatus::Failed => "failed",
        TaskStatus::Cancelled => "cancelled",
    }
}

fn time(ms: u64) -> String {
    let time = i64::try_from(ms).map(Timestamp::from_millisecond);
    match time {
        Ok(Ok(time)) => time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
        Ok(Err(_)) | Err(_) => "-".to_owned(),
    }
}

/// A text of somebody else's, so that it stays on its line.
fn plain(text: &str) -> String {
    text.chars()
        .map(|char| if char.is_control() { '?' } else { char })
        .collect()
}

fn or_nothing(text: String) -> String {
    if text.is_empty() {
        "nothing".to_owned()
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_written_in_utc() {
        assert_eq!(time(1_785_000_000_000), "2026-07-25T17:20:00Z");
        assert_eq!(time(u64::MAX), "-");
    }

    #[test]
    fn a_text_cannot_leave_its_line() {
        assert_eq!(plain("a\nb\u{1b}[0m"), "a?b?[0m");
    }
}
