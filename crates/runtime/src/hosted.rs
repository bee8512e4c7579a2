//! A server as its gateway holds it: looked up by name, shaped ahead of time.

use std::collections::HashMap;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use conduit_protocol::{
    CacheHints, Era, Face, Lists, Rendered, RequestId, ServerCapabilities, Tool, ToolsPage,
};
use conduit_server::{Policy, Server};
use conduit_telemetry::{ServerMetrics, Telemetry};
use tokio::sync::Semaphore;

use crate::watchdog::Named;

/// Tools on one page of `tools/list` (R45).
const PAGE: usize = 500;

/// One server of this gateway.
#[derive(Debug)]
pub struct Hosted {
    pub(crate) name: Arc<str>,
    pub(crate) server: Arc<dyn Server>,
    pub(crate) metrics: ServerMetrics,
    pub(crate) face: Face,
    tools: Vec<HostedTool>,
    by_name: HashMap<Box<str>, usize>,
    /// The pages of `tools/list`, as each era shows them.
    modern_pages: Vec<ToolsPage>,
    legacy_pages: Vec<ToolsPage>,
}

/// A tool with what bounds its calls.
#[derive(Debug)]
pub(crate) struct HostedTool {
    pub(crate) name: Arc<str>,
    /// As events name it.
    pub(crate) named: Arc<Named>,
    pub(crate) policy: Policy,
    pub(crate) concurrency: Option<Arc<Semaphore>>,
    pub(crate) time_limit: Duration,
}

/// A server cannot be hosted.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HostError {
    /// Two tools have one name, and a call could not tell them apart.
    #[error("the server `{server}` has two tools called `{tool}`")]
    DuplicateTool {
        /// The server's name.
        server: String,
        /// The tools' name.
        tool: String,
    },
}

impl Hosted {
    /// Takes a server in and shapes its lists once.
    ///
    /// `time_limit` is for tools that have none of their own.
    ///
    /// # Errors
    ///
    /// [`HostError::DuplicateTool`].
    pub fn new(
        server: Arc<dyn Server>,
        telemetry: &Telemetry,
        time_limit: Duration,
    ) -> Result<Self, HostError> {
        let implementation = server.implementation().clone();
        let name: Arc<str> = implementation.name.as_str().into();
        let held = Arc::clone(&server);
        let entries = held.tools();
        let mut by_name = HashMap::with_capacity(entries.len());
        let mut tools = Vec::with_capacity(entries.len());
        for (index, entry) in entries.iter().enumerate() {
            let tool = entry.definition.name.as_str();
            if by_name.insert(tool.into(), index).is_some() {
                return Err(HostError::DuplicateTool {
                    server: name.to_string(),
                    tool: tool.to_owned(),
                });
            }
            let registered: Arc<str> = tool.into();
            tools.push(HostedTool {
                named: Arc::new(Named {
                    server: Arc::clone(&name),
                    tool: Arc::clone(&registered),
                }),
                name: registered,
                concurrency: entry
                    .policy
                    .concurrency
                    .map(|limit| Arc::new(Semaphore::new(limit.get()))),
                time_limit: entry.policy.time_limit.unwrap_or(time_limit),
                policy: entry.policy.clone(),
            });
        }
        let face = Face::new(
            &implementation,
            &offered(&*server),
            server.instructions(),
            CacheHints::default(),
        );
        let definitions: Vec<&Tool> = entries.iter().map(|entry| &entry.definition).collect();
        let hints = server.tools_cache();
        let pages = |era| render_pages(&definitions, era, hints, &face);
        let (modern_pages, legacy_pages) = (pages(Era::Modern), pages(Era::Legacy));
        let names: Vec<&str> = tools.iter().map(|tool| &*tool.name).collect();
        let metrics = telemetry.register_server(&name, &names);
        Ok(Self {
            name,
            server,
            metrics,
            tools,
            by_name,
            modern_pages,
            legacy_pages,
            face,
        })
    }

    /// Returns the index of a tool and what bounds it.
    pub(crate) fn tool(&self, name: &str) -> Option<(usize, &HostedTool)> {
        let index = *self.by_name.get(name)?;
        Some((index, self.tools.get(index)?))
    }

    /// Returns what lists show of a tool.
    pub(crate) fn definition(&self, index: usize) -> Option<&Tool> {
        self.server
            .tools()
            .get(index)
            .map(|entry| &entry.definition)
    }

    /// Returns the registered name of a tool.
    pub(crate) fn tool_name(&self, index: usize) -> Arc<str> {
        self.tools
            .get(index)
            .map_or_else(|| Arc::from(""), |tool| Arc::clone(&tool.name))
    }

    /// Returns the response to `tools/list`, or `None` for a cursor that is not ours.
    pub(crate) fn tools_page(
        &self,
        era: Era,
        cursor: Option<&str>,
        id: &RequestId,
    ) -> Option<Rendered> {
        let pages = match era {
            Era::Modern => &self.modern_pages,
            Era::Legacy => &self.legacy_pages,
        };
        let page = cursor.map_or(Some(0), page_of)?;
        Some(pages.get(page)?.respond(id))
    }
}

/// What a server offers, as far as it is routed: tools.
fn offered(server: &dyn Server) -> ServerCapabilities {
    ServerCapabilities {
        tools: server
            .capabilities()
            .map_or_else(|| Some(Lists::default()), |declared| declared.tools),
        ..ServerCapabilities::default()
    }
}

fn render_pages(tools: &[&Tool], era: Era, hints: CacheHints, face: &Face) -> Vec<ToolsPage> {
    let pages = tools.len().div_ceil(PAGE).max(1);
    (0..pages)
        .map(|page| {
            let shown = tools.iter().copied().skip(page * PAGE).take(PAGE);
            let next = (page + 1 < pages).then(|| cursor_of(page + 1));
            ToolsPage::render(era, shown, next.as_deref(), hints, face)
        })
        .collect()
}

/// Cursors are opaque to clients; ours say which page comes.
fn cursor_of(page: usize) -> String {
    format!("page-{page}")
}

/// Reads a cursor that [`cursor_of`] wrote; the first page has none.
fn page_of(cursor: &str) -> Option<usize> {
    let number = cursor.strip_prefix("page-")?;
    let canonical = number.bytes().all(|byte| byte.is_ascii_digit()) && !number.starts_with('0');
    let page: NonZeroUsize = number.parse().ok().filter(|_| canonical)?;
    Some(page.get())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_reads_back_as_its_page() {
        assert_eq!(page_of(&cursor_of(1)), Some(1));
        assert_eq!(page_of(&cursor_of(42)), Some(42));
    }

    #[test]
    fn what_is_not_our_cursor_is_refused() {
        for cursor in [
            "", "page-", "page-0", "page-01", "page-+1", "page-x", "2", "page-1 ",
        ] {
            assert_eq!(page_of(cursor), None, "{cursor:?}");
        }
    }
}
