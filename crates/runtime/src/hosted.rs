//! A server as its gateway holds it: looked up by name, shaped ahead of time.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::num::NonZeroUsize;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use conduit_link::{Subject, Topic};
use conduit_protocol::{
    Dialect, Era, Face, Filter, Gate, Listed, Method, Page, Prompt, Rendered, RequestId, Resource,
    ResourceTemplate, ServerCapabilities, TaskSupport, Tool,
};
use conduit_server::{CacheHints, Catalog, Changes, Listing, Server, ToolEntry};
use conduit_telemetry::{ServerMetrics, Telemetry};
use parking_lot::RwLock;
use uuid::Uuid;

use crate::watchdog::Named;

/// One server of this gateway.
#[derive(Debug)]
pub struct Hosted {
    pub(crate) name: Arc<str>,
    pub(crate) server: Arc<dyn Server>,
    pub(crate) metrics: ServerMetrics,
    pub(crate) face: Face,
    /// For callbacks that have no limit of their own.
    pub(crate) time_limit: Duration,
    /// What it offers, and is held to.
    pub(crate) offered: ServerCapabilities,
    /// Whether it declared that; else nothing is refused for not being offered but a
    /// subscription (R9).
    declares: bool,
    /// With what it publishes, once it is served.
    changes: OnceLock<Changes>,
    /// As events name what is not prepared yet.
    asked: [(Method, Arc<Named>); 3],
    /// What it has, as it was when somebody last asked.
    shown: RwLock<Arc<Shown>>,
}

/// What a server has at one moment, ready to be listed and called.
#[derive(Debug)]
pub(crate) struct Shown {
    version: u64,
    tools: HashMap<Box<str>, HostedTool>,
    tool_pages: Pages<Tool>,
    resource_pages: Pages<Resource>,
    template_pages: Pages<ResourceTemplate>,
    prompt_pages: Pages<Prompt>,
}

/// What can be listed.
#[derive(Clone, Copy, Debug)]
pub(crate) enum List {
    Tools,
    Resources,
    Templates,
    Prompts,
}

/// A tool, and what its calls are known by.
#[derive(Debug)]
pub(crate) struct HostedTool {
    pub(crate) entry: Arc<ToolEntry>,
    /// As events name it.
    pub(crate) named: Arc<Named>,
}

/// The pages of a list, as each era shows them.
#[derive(Debug)]
struct Pages<T> {
    /// Tells this list from any other, also from the same one with other entries: the
    /// same at every gateway that has these.
    fingerprint: u64,
    modern: Vec<Page<T>>,
    legacy: Vec<Page<T>>,
    /// For sessions that may know of tasks, where that makes a difference (R10).
    legacy_with_tasks: Option<Vec<Page<T>>>,
}

impl Hosted {
    /// Takes a server in and shapes its lists.
    ///
    /// `time_limit` is for callbacks that have none of their own.
    #[must_use]
    pub fn new(server: Arc<dyn Server>, telemetry: &Telemetry, time_limit: Duration) -> Self {
        let implementation = server.implementation();
        let name: Arc<str> = implementation.name.as_str().into();
        let declared = server.capabilities();
        let mut offered = server.offers().overlay(declared);
        // There is no store for them unless somebody says so.
        offered.tasks = false;
        let face = face_of(&*server, &offered);
        let catalog = server.catalog();
        let shown = Shown::of(&catalog, &name, &face, offered.tasks);
        let metrics = telemetry.register_server(&name, &tool_names(&catalog));
        let named = |method: Method| {
            let named = Named {
                server: Arc::clone(&name),
                callback: method.as_str().into(),
            };
            (method, Arc::new(named))
        };
        Self {
            asked: [
                named(Method::ResourcesRead),
                named(Method::PromptsGet),
                named(Method::CompletionComplete),
            ],
            changes: OnceLock::new(),
            name,
            metrics,
            face,
            time_limit,
            declares: declared.is_some(),
            offered,
            shown: RwLock::new(Arc::new(shown)),
            server,
        }
    }

    /// Lets calls become tasks, if the server has any that can (R39).
    #[must_use]
    pub fn with_tasks(self, enabled: bool) -> Self {
        let mut offered = self.server.offers().overlay(self.server.capabilities());
        offered.tasks &= enabled;
        let face = face_of(&*self.server, &offered);
        let shown = Shown::of(&self.server.catalog(), &self.name, &face, offered.tasks);
        Self {
            face,
            offered,
            shown: RwLock::new(Arc::new(shown)),
            ..self
        }
    }

    /// Hands over what the server publishes its changes with.
    pub(crate) fn attach(&self, changes: Changes) {
        if self.changes.set(changes.clone()).is_ok() {
            self.server.attach(changes);
        }
    }

    /// Returns what the server publishes its changes with.
    pub(crate) fn changes(&self) -> Changes {
        self.changes.get().cloned().unwrap_or_default()
    }

    /// Returns how a callback is named before it is known which one it is.
    pub(crate) fn named(&self, method: Method) -> Arc<Named> {
        let [(_, first), ..] = &self.asked;
        let named = self.asked.iter().find(|(asked, _)| *asked == method);
        Arc::clone(named.map_or(first, |(_, named)| named))
    }

    /// Returns what the server has now.
    pub(crate) fn shown(&self) -> Arc<Shown> {
        let catalog = self.server.catalog();
        {
            let shown = self.shown.read();
            if shown.version == catalog.version() {
                return Arc::clone(&shown);
            }
        }
        let tasks = self.offered.tasks;
        let shown = Arc::new(Shown::of(&catalog, &self.name, &self.face, tasks));
        self.metrics.set_tools(&tool_names(&catalog));
        *self.shown.write() = Arc::clone(&shown);
        shown
    }

    /// Finds the method of a request, if the server serves it.
    pub(crate) fn route(&self, era: Era, name: &str) -> Option<Method> {
        Method::route(era, name).filter(|method| {
            method
                .capability()
                .is_none_or(|gate| self.offered.offers(gate) || self.answers_nothing(gate))
        })
    }

    /// Returns the topics of a filter.
    pub(crate) fn topics(&self, filter: &Filter) -> Vec<Topic> {
        let lists = [
            (filter.tools, Subject::Tools),
            (filter.prompts, Subject::Prompts),
            (filter.resources, Subject::Resources),
        ];
        let lists = lists
            .into_iter()
            .filter_map(|(wanted, subject)| wanted.then_some(subject));
        let uris = filter.resource_uris.iter().cloned().map(Subject::Resource);
        let tasks = filter.task_ids.iter().flatten();
        let tasks = tasks.filter_map(|id| Uuid::try_parse(id).ok().map(Subject::Task));
        lists
            .chain(uris)
            .chain(tasks)
            .map(|subject| Topic {
                server: self.name.to_string(),
                subject,
            })
            .collect()
    }

    /// Returns what a legacy session is told of: every list, and the resources that it
    /// has subscribed to (L-SUB-16).
    pub(crate) fn session_topics(&self, subscriptions: &[String]) -> Vec<Topic> {
        let everything = Filter {
            tools: true,
            prompts: true,
            resources: true,
            resource_uris: subscriptions.to_vec(),
            task_ids: None,
        };
        self.topics(&everything.honoured(&self.offered))
    }

    /// Whether a server that declares nothing has an empty answer (R9).
    fn answers_nothing(&self, gate: Gate) -> bool {
        !self.declares && !matches!(gate, Gate::ResourceSubscriptions | Gate::Tasks)
    }
}

impl Shown {
    /// Finds a tool.
    pub(crate) fn tool(&self, name: &str) -> Option<&HostedTool> {
        self.tools.get(name)
    }

    /// Answers a request for a page of a list; `None` when the cursor is not one of
    /// this list.
    pub(crate) fn page(
        &self,
        list: List,
        dialect: Dialect,
        cursor: Option<&str>,
        id: &RequestId,
    ) -> Option<Rendered> {
        match list {
            List::Tools => self.tool_pages.respond(dialect, cursor, id),
            List::Resources => self.resource_pages.respond(dialect, cursor, id),
            List::Templates => self.template_pages.respond(dialect, cursor, id),
            List::Prompts => self.prompt_pages.respond(dialect, cursor, id),
        }
    }

    /// `tasks` says whether calls can become tasks.
    fn of(catalog: &Catalog, server: &Arc<str>, face: &Face, tasks: bool) -> Self {
        let entries = catalog.entries();
        let listings = &entries.listings;
        let tools = entries.tools.iter().map(|entry| {
            let name = entry.definition.name.as_str();
            let tool = HostedTool {
                entry: Arc::clone(entry),
                named: Arc::new(Named {
                    server: Arc::clone(server),
                    callback: name.into(),
                }),
            };
            (Box::from(name), tool)
        });
        let shown = entries.tools.iter().map(|one| &one.definition);
        let shown: Vec<_> = shown.map(|tool| (tool.name.as_str(), tool)).collect();
        let mut tool_pages = Pages::render(&shown, listings.tools, face);
        let can_be_task = |(_, tool): &(&str, &Tool)| tool.task_support != TaskSupport::Forbidden;
        if tasks && shown.iter().any(can_be_task) {
            tool_pages.add_tasks(&shown, listings.tools, face);
        }
        let shown = entries.resources.iter().map(|one| &one.definition);
        let shown: Vec<_> = shown.map(|one| (one.uri.as_str(), one)).collect();
        let resource_pages = Pages::render(&shown, listings.resources, face);
        let shown = entries.templates.iter().map(|one| &one.definition);
        let shown: Vec<_> = shown.map(|one| (one.uri_template.as_str(), one)).collect();
        let template_pages = Pages::render(&shown, listings.templates, face);
        let shown = entries.prompts.iter().map(|one| &one.definition);
        let shown: Vec<_> = shown.map(|one| (one.name.as_str(), one)).collect();
        let prompt_pages = Pages::render(&shown, listings.prompts, face);
        Self {
            version: catalog.version(),
            tools: tools.collect(),
            tool_pages,
            resource_pages,
            template_pages,
            prompt_pages,
        }
    }
}

fn face_of(server: &dyn Server, offered: &ServerCapabilities) -> Face {
    Face::new(
        server.implementation(),
        offered,
        server.instructions(),
        CacheHints::default(),
    )
}

fn tool_names(catalog: &Catalog) -> Vec<&str> {
    let tools = catalog.entries().tools.iter();
    tools.map(|tool| tool.definition.name.as_str()).collect()
}

impl<T: Listed> Pages<T> {
    /// Renders items, each with what it is asked for by.
    fn render(items: &[(&str, &T)], listing: Listing, face: &Face) -> Self {
        let mut hasher = DefaultHasher::new();
        T::LIST.hash(&mut hasher);
        items.iter().for_each(|(key, _)| key.hash(&mut hasher));
        let fingerprint = hasher.finish();
        let render = |dialect| Self::render_in(dialect, items, listing, fingerprint, face);
        Self {
            fingerprint,
            modern: render(Dialect::Modern),
            legacy: render(Dialect::Legacy),
            legacy_with_tasks: None,
        }
    }

    fn render_in(
        dialect: Dialect,
        items: &[(&str, &T)],
        listing: Listing,
        fingerprint: u64,
        face: &Face,
    ) -> Vec<Page<T>> {
        let size = listing.page.get();
        let pages = items.len().div_ceil(size).max(1);
        (0..pages)
            .map(|page| {
                let shown = items.iter().map(|(_, item)| *item);
                let shown = shown.skip(page * size).take(size);
                let next = (page + 1 < pages).then(|| cursor_of(fingerprint, page + 1));
                Page::render_for(dialect, shown, next.as_deref(), listing.cache, face)
            })
            .collect()
    }

    fn respond(&self, dialect: Dialect, cursor: Option<&str>, id: &RequestId) -> Option<Rendered> {
        let pages = match dialect {
            Dialect::Modern => &self.modern,
            Dialect::Legacy => &self.legacy,
            Dialect::LegacyWithTasks => self.legacy_with_tasks.as_ref().unwrap_or(&self.legacy),
        };
        let page = cursor.map_or(Some(0), |cursor| page_of(self.fingerprint, cursor))?;
        Some(pages.get(page)?.respond(id))
    }
}

impl Pages<Tool> {
    /// Renders the same tools once more, with what their calls can become.
    fn add_tasks(&mut self, items: &[(&str, &Tool)], listing: Listing, face: &Face) {
        let dialect = Dialect::LegacyWithTasks;
        let pages = Self::render_in(dialect, items, listing, self.fingerprint, face);
        self.legacy_with_tasks = Some(pages);
    }
}

/// Cursors are opaque to clients; ours say which page comes, and of which list. A list
/// that has changed has other ones, so nobody walks past what has moved (C-PAGE-03).
fn cursor_of(fingerprint: u64, page: usize) -> String {
    format!("{fingerprint:016x}-{page}")
}

/// Reads a cursor that [`cursor_of`] wrote; the first page has none.
fn page_of(fingerprint: u64, cursor: &str) -> Option<usize> {
    let (_, page) = cursor.split_once('-')?;
    let page: NonZeroUsize = page.parse().ok()?;
    (cursor_of(fingerprint, page.get()) == cursor).then_some(page.get())
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIST: u64 = 7;

    #[test]
    fn a_cursor_reads_back_as_its_page() {
        for page in [1, 42] {
            assert_eq!(page_of(LIST, &cursor_of(LIST, page)), Some(page));
        }
    }

    #[test]
    fn the_cursor_of_another_list_is_refused() {
        assert_eq!(page_of(LIST, &cursor_of(8, 1)), None);
    }

    #[test]
    fn what_is_not_our_cursor_is_refused() {
        for page in ["", "-", "-0", "-01", "-+1", "-x", "-1 "] {
            let cursor = format!("{LIST:016x}{page}");
            assert_eq!(page_of(LIST, &cursor), None, "{cursor:?}");
        }
        assert_eq!(page_of(LIST, "7-1"), None);
    }
}
