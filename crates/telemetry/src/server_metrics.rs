//! The counters of one server, bound before its first request.
//!
//! Each cell is made when it is first hit and found by its index from then on:
//! no map, no lock. Only a tool's name is looked up, in a map that never
//! changes.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use prometheus::{Histogram, IntCounter};
use tracing::{Level, enabled};

use crate::event::{Event, Trace, clip};
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

impl ServerMetrics {
    pub(crate) fn new<'a>(
        telemetry: Telemetry,
        server: &str,
        tools: impl Iterator<Item = &'a str>,
    ) -> Self {
        Self {
            shared: Arc::new(Shared {
                telemetry,
                server: server.to_owned(),
                requests: cells(method_count() * Era::ALL.len() * Outcome::ALL.len()),
                request_seconds: cells(method_count() * Era::ALL.len()),
                tools: tools
                    .map(|tool| (tool.into(), ToolCells::new(tool)))
                    .collect(),
                other: ToolCells::new(OTHER),
            }),
        }
    }

    /// Returns the label of the server.
    #[must_use]
    pub fn server(&self) -> &str {
        &self.shared.server
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
        let cells = tool
            .and_then(|tool| self.shared.tools.get(tool))
            .unwrap_or(&self.shared.other);
        self.shared.tool_calls_of(cells, outcome).inc();
        self.shared
            .tool_seconds_of(cells)
            .observe(took.as_secs_f64());
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
}

impl fmt::Debug for ServerMetrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerMetrics")
            .field("server", &self.shared.server)
            .field("tools", &self.shared.tools.len())
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
    tools: HashMap<Box<str>, ToolCells>,
    other: ToolCells,
}

struct ToolCells {
    label: Box<str>,
    calls: [OnceLock<IntCounter>; Outcome::ALL.len()],
    seconds: OnceLock<Histogram>,
}

impl ToolCells {
    fn new(label: &str) -> Self {
        Self {
            label: label.into(),
            calls: Default::default(),
            seconds: OnceLock::new(),
        }
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

    #[expect(clippy::indexing_slicing, reason = "there is a cell for each outcome")]
    fn tool_calls_of<'a>(&self, cells: &'a ToolCells, outcome: Outcome) -> &'a IntCounter {
        cells.calls[outcome as usize].get_or_init(|| {
            let labels = [&self.server, &*cells.label, outcome.as_str()];
            self.telemetry
                .instruments()
                .tool_calls
                .with_label_values(&labels)
        })
    }

    fn tool_seconds_of<'a>(&self, cells: &'a ToolCells) -> &'a Histogram {
        cells.seconds.get_or_init(|| {
            let labels = [&self.server, &*cells.label];
            self.telemetry
                .instruments()
                .tool_seconds
                .with_label_values(&labels)
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
