//! What a child does when the supervisor starts it.

use std::fs::{self, OpenOptions};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use conduit_link::{
    Answer, Delivery, Lane, Link, Links, Message, Options, Roll, ShardView, Slot, ToChild,
    ToSupervisor, build_id,
};
use serde::{Deserialize, Serialize};
use tokio::sync::mpsc;

/// The first argument of a child.
pub(crate) const COMMAND: &str = "child";

/// How the children behave: slots that are named do not do what they should.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Settings {
    /// They end at once.
    pub(crate) broken: Vec<String>,
    /// They never say that they are ready.
    pub(crate) mute: Vec<String>,
    /// They do not drain.
    pub(crate) deaf: Vec<String>,
    /// Their main loop stands still from the start.
    pub(crate) stalled: Vec<String>,
    /// Fills the pipe.
    pub(crate) padding: String,
}

/// What a child notes in the state directory, a line each.
pub(crate) const NOTES: &str = "notes";

/// Where a child lists its descriptors as it finds them.
pub(crate) fn descriptors(state_dir: &Path, slot: &str) -> PathBuf {
    state_dir.join(format!("{slot}.fds"))
}

/// Runs a child to its end.
pub(crate) fn run() -> ExitCode {
    let slot: Slot = argument("--slot").parse().expect("a slot");
    let run_dir = PathBuf::from(argument("--run-dir"));
    let state_dir = run_dir.parent().expect("a parent").to_owned();
    let name = slot.to_string();
    list_descriptors(&descriptors(&state_dir, &name));
    let mut text = String::new();
    std::io::stdin()
        .read_to_string(&mut text)
        .expect("settings");
    let settings: Settings = serde_json::from_str(&text).expect("settings");
    if settings.broken.contains(&name) {
        return ExitCode::from(7);
    }
    note(&state_dir, &format!("start {name}"));
    let life = argument("--life").parse().expect("a life");
    let options = Options {
        heartbeat: Duration::from_millis(100),
        ..Options::new(run_dir, slot, life, build_id().expect("a build"))
    };
    let links = Links::start(options).expect("links");
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    runtime.block_on(serve(&links, &settings, &name, &state_dir));
    note(&state_dir, &format!("end {name}"));
    ExitCode::SUCCESS
}

/// What the main loop hears of its link.
enum Heard {
    Up,
    Down,
    Drain,
}

/// How long a supervisor may be away.
const AWAY: Duration = Duration::from_secs(1);

/// Serves until drained, or until the supervisor is gone.
async fn serve(links: &Links, settings: &Settings, name: &str, state_dir: &Path) {
    let named = |slots: &[String]| slots.iter().any(|slot| slot == name);
    let (tell, mut told) = mpsc::channel(8);
    links.watch_loop(tokio::runtime::Handle::current());
    let (slot, state_dir): (Slot, _) = (name.parse().expect("a slot"), state_dir.to_owned());
    let link = links.connect(
        Slot::SUPERVISOR,
        Arc::new(move |_, delivery| match delivery {
            Delivery::Up(_) => tell.try_send(Heard::Up).expect("room"),
            Delivery::Down(_) => tell.try_send(Heard::Down).expect("room"),
            Delivery::Event(incoming) => {
                if let Message::ToChild(ToChild::Drain { .. }) = incoming.message {
                    tell.try_send(Heard::Drain).expect("room");
                } else if let Message::ToChild(ToChild::Roll(roll)) = incoming.message {
                    note(&state_dir, &noted(&slot, &roll));
                }
            }
            Delivery::Call(incoming, answerer) => answerer.answer(answer(&slot, &incoming.message)),
        }),
    );
    if named(&settings.stalled) {
        // Only this thread stands still; the links have their own.
        told.recv().await.expect("news");
        say(
            &link,
            ToSupervisor::Ready {
                addresses: Vec::new(),
            },
        );
        std::thread::park();
    }
    let mut patience = Duration::MAX;
    while let Ok(Some(heard)) = tokio::time::timeout(patience, told.recv()).await {
        match heard {
            Heard::Up => {
                patience = Duration::MAX;
                if !named(&settings.mute) {
                    say(
                        &link,
                        ToSupervisor::Ready {
                            addresses: Vec::new(),
                        },
                    );
                }
            }
            Heard::Down => patience = AWAY,
            Heard::Drain if named(&settings.deaf) => {}
            Heard::Drain => break,
        }
    }
    if link.is_up() {
        say(&link, ToSupervisor::Drained { stopped: 0 });
    }
    links.stop(Duration::from_secs(1)).await;
}

/// Writes a roll as a hub notes it: who heard it, the epoch, how many were told a map, how
/// many were reaped.
fn noted(slot: &Slot, roll: &Roll) -> String {
    let Roll { map, told, reaped } = roll;
    format!("roll {slot} {} {} {}", map.epoch, told.len(), reaped.len())
}

fn answer(slot: &Slot, question: &Message) -> Answer {
    if *question == Message::ToChild(ToChild::Probe) {
        return Answer::Probed;
    }
    if *question != Message::ToChild(ToChild::ShowShard) {
        return Answer::Metrics(slot.to_string().into_bytes().into());
    }
    Answer::Shard(ShardView {
        slot: slot.clone(),
        epoch: 1,
        is_open: true,
        topics: u64::from(slot.index),
        registrations: 0,
        gateways: 0,
        in_flight: 0,
        published: 0,
        delivered: 0,
        lag_ms: 0,
        uptime_ms: 1,
    })
}

fn say(link: &Link, message: ToSupervisor) {
    link.send(Lane::Control, Message::ToSupervisor(message))
        .expect("an open link");
}

fn argument(name: &str) -> String {
    let mut arguments = std::env::args().skip_while(|argument| argument != name);
    arguments.nth(1).expect("an argument")
}

fn note(state_dir: &Path, line: &str) {
    let mut notes = OpenOptions::new()
        .create(true)
        .append(true)
        .open(state_dir.join(NOTES))
        .expect("notes");
    notes
        .write_all(format!("{line}\n").as_bytes())
        .expect("a note");
}

fn list_descriptors(path: &Path) {
    let mut lines = String::new();
    for entry in fs::read_dir("/proc/self/fd").expect("descriptors") {
        let entry = entry.expect("an entry");
        // The listing itself is gone by the time that it is looked at.
        if let Ok(target) = fs::read_link(entry.path()) {
            let number = entry.file_name();
            lines += &format!("{} {}\n", number.display(), target.display());
        }
    }
    fs::write(path, lines).expect("a list");
}
