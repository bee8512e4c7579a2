//! The counters of one server, bound before its first request.
//!
//! Each cell is made when it is first hit and found by its index from then on:
//! no map, no lock. Only a tool's name is looked up, in a map that is locked for
//! the moment in which a new tool is entered, and never loses one: a tool that is
//! gone keeps its label, and its place among [`TOOLS`].

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use parking_lot::RwLock;
use prometheus::{Histogram, HistogramVec, IntCounter, IntCounterVec};
use tracing::{Level, enabled};

use crate::event::{Event, Trace, clip};
use crate::instruments::Instruments;
use crate::label::{Era, OTHER, Outcome, method_count, method_index, method_label};
use crate::telemetry::Telemetry;

/// The most servers with a label of their own.
pub const SERVERS: usize = 16;

/// The most tools of one server with a label of their own (R26).
pub const TOOLS: usize = 200;

/// Counts what one server does; cheap to clone.
#[derive(Clone)]
pub struct ServerMetrics {
    shared: Arc<Shared>,
}

/// A request that was answered.
#[derive(Clone, Copy, Debug)]
pub struct RequestSample<'a> {
    /// The method as the client wrote it; none when it wrote no string.
    pub method: Option<&'a str>,
    /// The era, as far as it is known.
    pub era: Era,
    /// The protocol version, where one was said or negotiated.
    pub version: Option<&'a str>,
    /// What became of it.
    pub outcome: Outcome,
    /// Since the request was read.
    pub took: Duration,
    /// What the client said of its trace.
    pub trace: Trace<&'a str>,
}

/// A tool that was called.
#[derive(Clone, Copy, Debug)]
pub struct ToolSample<'a> {
    /// The name as the client wrote it; none when it wrote no string.
    pub tool: Option<&'a str>,
    /// What became of it.
    pub outcome: Outcome,
    /// Since the callback was started; zero when it was not.
    pub took: Duration,
}

/// A piece of work of a task that has ended.
#[derive(Clone, Copy, Debug)]
pub struct TaskSample<'a> {
    /// The name of its tool. Never a label.
    pub tool: &'a str,
    /// What became of it: it may have ended for now only.
    pub outcome: Outcome,
    /// Since it was begun.
    pub took: Duration,
}

/// A resource that was read.
#[derive(Clone, Copy, Debug)]
pub struct ReadSample<'a> {
    /// The URI as the client wrote it; none when it wrote no string. Never a label.
    pub resource: Option<&'a str>,
    /// What became of it.
    pub outcome: Outcome,
    /// Since the callback was started; zero when it was not.
    pub took: Duration,
}

/// A prompt that was asked for.
#[derive(Clone, Copy, Debug)]
pub struct PromptSample<'a> {
    /// The name as the client wrote it; none when it wrote no string. Never a label.
    pub prompt: Option<&'a str>,
    /// What became of it.
    pub outcome: Outcome,
    /// Since the callback was started; zero when it was not.
    pub took: Duration,
}

impl ServerMetrics {
    pub(crate) fn new(telemetry: Telemetry, server: &str) -> Self {
        Self {
            shared: Arc::new(Shared {
                telemetry,
                server: server.to_owned(),
                requests: cells(method_count() * Era::ALL.len() * Outcome::ALL.len()),
                request_seconds: cells(method_count() * Era::ALL.len()),
                tools: RwLock::default(),
                other: Cells::default(),
                reads: Cells::default(),
                prompts: Cells::default(),
                tasks: Cells::default(),
                subscriptions: OnceLock::new(),
                subscription_seconds: OnceLock::new(),
            }),
        }
    }

    /// Returns the label of the server.
    #[must_use]
    pub fn server(&self) -> &str {
        &self.shared.server
    }

    /// Gives a label to each of these tools that has none yet, as long as there are
    /// fewer than [`TOOLS`]. No tool loses its label.
    pub fn set_tools<T: AsRef<str>>(&self, tools: &[T]) {
        let labelled = self.shared.telemetry.label_tools(self.server(), tools);
        let mut cells = self.shared.tools.write();
        for tool in labelled {
            if !cells.contains_key(tool) {
                cells.insert(tool.into(), Cells::default());
            }
        }
    }

    /// Counts a request that was answered.
    pub fn request(&self, sample: RequestSample<'_>) {
        let RequestSample {
            method,
            era,
            outcome,
            took,
            ..
        } = sample;
        let method = method_index(method);
        let place = method * Era::ALL.len() + era as usize;
        let counter = place * Outcome::ALL.len() + outcome as usize;
        if let Some(cell) = self.shared.requests.get(counter) {
            cell.get_or_init(|| self.shared.requests_of(method, era, outcome))
                .inc();
        }
        if let Some(cell) = self.shared.request_seconds.get(place) {
            cell.get_or_init(|| self.shared.seconds_of(method, era))
                .observe(took.as_secs_f64());
        }
        let heard = enabled!(target: "conduit_mcp.request.stop", Level::DEBUG);
        if heard || self.shared.telemetry.has_listeners() {
            self.shared.telemetry.emit(self.shared.stopped(sample));
        }
    }

    /// Counts a tool that was called, or that a client asked for in vain.
    pub fn tool(&self, sample: ToolSample<'_>) {
        let ToolSample {
            tool,
            outcome,
            took,
        } = sample;
        self.shared.count_tool(tool, outcome, took);
        let heard = enabled!(target: "conduit_mcp.tool.execute", Level::DEBUG);
        if heard || self.shared.telemetry.has_listeners() {
            self.shared.telemetry.emit(Event::ToolExecuted {
                server: self.shared.server.clone(),
                tool: tool.map(clip),
                outcome,
                took,
            });
        }
    }

    /// Counts a piece of work of a task that has ended.
    pub fn task(&self, sample: TaskSample<'_>) {
        let TaskSample {
            tool,
            outcome,
            took,
        } = sample;
        let Shared { server, tasks, .. } = &*self.shared;
        let Instruments {
            task_runs,
            task_run_seconds,
            ..
        } = self.shared.telemetry.instruments();
        tasks.count(task_runs, &[server], outcome);
        tasks.time(task_run_seconds, &[server], took);
        let heard = enabled!(target: "conduit", Level::DEBUG);
        if heard || self.shared.telemetry.has_listeners() {
            self.shared.telemetry.emit(Event::TaskRun {
                server: server.clone(),
                tool: clip(tool),
                outcome,
                took,
            });
        }
    }

    /// Counts a resource that was read, or that a client asked for in vain.
    pub fn read(&self, sample: ReadSample<'_>) {
        let ReadSample {
            resource,
            outcome,
            took,
        } = sample;
        let Shared { server, reads, .. } = &*self.shared;
        let Instruments {
            resource_reads,
            resource_read_seconds,
            ..
        } = self.shared.telemetry.instruments();
        reads.count(resource_reads, &[server], outcome);
        reads.time(resource_read_seconds, &[server], took);
        let heard = enabled!(target: "conduit_mcp.resource.read", Level::DEBUG);
        if heard || self.shared.telemetry.has_listeners() {
            self.shared.telemetry.emit(Event::ResourceRead {
                server: server.clone(),
                uri: resource.map(clip),
                outcome,
                took,
            });
        }
    }

    /// Counts a prompt that was asked for, in vain or not.
    pub fn prompt(&self, sample: PromptSample<'_>) {
        let PromptSample {
            prompt,
            outcome,
            took,
        } = sample;
        let Shared {
            server, prompts, ..
        } = &*self.shared;
        let Instruments {
            prompt_gets,
            prompt_get_seconds,
            ..
        } = self.shared.telemetry.instruments();
        prompts.count(prompt_gets, &[server], outcome);
        prompts.time(prompt_get_seconds, &[server], took);
        let heard = enabled!(target: "conduit_mcp.prompt.get", Level::DEBUG);
        if heard || self.shared.telemetry.has_listeners() {
            self.shared.telemetry.emit(Event::PromptGot {
                server: server.clone(),
                prompt: prompt.map(clip),
                outcome,
                took,
            });
        }
    }

    /// Counts an answer to a request of this method that asked the client for input.
    pub fn input_required(&self, method: &'static str, requests: usize, has_state: bool) {
        let Shared {
            server, telemetry, ..
        } = &*self.shared;
        telemetry
            .instruments()
            .input_rounds
            .with_label_values(&[server.as_str(), method])
            .inc();
        let heard = enabled!(target: "conduit_mcp.mrtr.input_required", Level::DEBUG);
        if heard || telemetry.has_listeners() {
            telemetry.emit(Event::InputRequired {
                server: server.clone(),
                method,
                requests,
                has_state,
            });
        }
    }

    /// Counts a client that begins to listen to changes. `subscription` is the id of
    /// its request, as JSON text.
    pub fn subscription_started(&self, subscription: &str) {
        self.shared.subscriptions().inc();
        let heard = enabled!(target: "conduit_mcp.subscription.start", Level::DEBUG);
        if heard || self.shared.telemetry.has_listeners() {
            self.shared.telemetry.emit(Event::SubscriptionStarted {
                server: self.shared.server.clone(),
                subscription: clip(subscription),
            });
        }
    }

    /// Times a subscription from [`ServerMetrics::subscription_started`] that has
    /// ended. `reason` is one word: `client`, `drain` or `empty`.
    pub fn subscription_stopped(&self, subscription: &str, reason: &'static str, took: Duration) {
        self.shared
            .subscription_seconds()
            .observe(took.as_secs_f64());
        let heard = enabled!(target: "conduit_mcp.subscription.stop", Level::DEBUG);
        if heard || self.shared.telemetry.has_listeners() {
            self.shared.telemetry.emit(Event::SubscriptionStopped {
                server: self.shared.server.clone(),
                subscription: clip(subscription),
                reason,
                took,
            });
        }
    }
}

impl fmt::Debug for ServerMetrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerMetrics")
            .field("server", &self.shared.server)
            .field("tools", &self.shared.tools.read().len())
            .finish_non_exhaustive()
    }
}

// === Behind the handle ===

struct Shared {
    telemetry: Telemetry,
    server: String,
    /// By method, era and outcome, the last one fastest.
    requests: Box<[OnceLock<IntCounter>]>,
    /// By method and era.
    request_seconds: Box<[OnceLock<Histogram>]>,
    /// Never more than [`TOOLS`].
    tools: RwLock<HashMap<Box<str>, Cells>>,
    other: Cells,
    reads: Cells,
    prompts: Cells,
    tasks: Cells,
    subscriptions: OnceLock<IntCounter>,
    subscription_seconds: OnceLock<Histogram>,
}

/// What became of calls of one thing, and how long they took.
#[derive(Default)]
struct Cells {
    calls: [OnceLock<IntCounter>; Outcome::ALL.len()],
    seconds: OnceLock<Histogram>,
}

impl Cells {
    /// Counts a call under its labels, of which the outcome is the last.
    fn count(&self, counters: &IntCounterVec, labels: &[&str], outcome: Outcome) {
        if let Some(cell) = self.calls.get(outcome as usize) {
            cell.get_or_init(|| {
                let labels: Vec<&str> = labels.iter().copied().chain([outcome.as_str()]).collect();
                counters.with_label_values(&labels)
            })
            .inc();
        }
    }

    fn time(&self, histograms: &HistogramVec, labels: &[&str], took: Duration) {
        self.seconds
            .get_or_init(|| histograms.with_label_values(labels))
            .observe(took.as_secs_f64());
    }
}

fn cells<T>(count: usize) -> Box<[OnceLock<T>]> {
    std::iter::repeat_with(OnceLock::new).take(count).collect()
}

impl Shared {
    fn requests_of(&self, method: usize, era: Era, outcome: Outcome) -> IntCounter {
        self.telemetry.instruments().requests.with_label_values(&[
            &self.server,
            era.as_str(),
            method_label(method),
            outcome.as_str(),
        ])
    }

    fn seconds_of(&self, method: usize, era: Era) -> Histogram {
        self.telemetry
            .instruments()
            .request_seconds
            .with_label_values(&[&self.server, era.as_str(), method_label(method)])
    }

    fn count_tool(&self, tool: Option<&str>, outcome: Outcome, took: Duration) {
        let Instruments {
            tool_calls,
            tool_seconds,
            ..
        } = self.telemetry.instruments();
        let tools = self.tools.read();
        let (label, cells) = tool
            .and_then(|tool| tools.get(tool).map(|cells| (tool, cells)))
            .unwrap_or((OTHER, &self.other));
        let labels = [&self.server, label];
        cells.count(tool_calls, &labels, outcome);
        cells.time(tool_seconds, &labels, took);
    }

    fn subscriptions(&self) -> &IntCounter {
        self.subscriptions.get_or_init(|| {
            self.telemetry
                .instruments()
                .subscriptions
                .with_label_values(&[&self.server])
        })
    }

    fn subscription_seconds(&self) -> &Histogram {
        self.subscription_seconds.get_or_init(|| {
            self.telemetry
                .instruments()
                .subscription_seconds
                .with_label_values(&[&self.server])
        })
    }

    fn stopped(&self, sample: RequestSample<'_>) -> Event {
        Event::RequestStopped {
            server: self.server.clone(),
            method: sample.method.map(clip),
            era: sample.era,
            version: sample.version.map(clip),
            outcome: sample.outcome,
            took: sample.took,
            trace: sample.trace.to_owned_clipped(),
        }
    }
}
