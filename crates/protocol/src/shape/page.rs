//! Pages of lists, rendered once and shared by all who ask.

use std::marker::PhantomData;

use bytes::Bytes;

use crate::era::Era;
use crate::id::RequestId;
use crate::prompts::Prompt;
use crate::resources::{Resource, ResourceTemplate};
use crate::shape::face::{CacheHints, Face};
use crate::shape::json::{Object, put};
use crate::shape::{Rendered, legacy, modern, result_tail};
use crate::tools::{TaskSupport, Tool};

/// One page of a list in one era. Cloning is cheap.
#[derive(Debug)]
pub struct Page<T> {
    tail: Bytes,
    items: PhantomData<fn() -> T>,
}

/// Whose language a list is written in.
///
/// The two legacy versions get the same bytes but for one member: 2025-11-25 shows
/// which tools can be tasks (R10).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Dialect {
    /// That of 2026-07-28.
    Modern,
    /// That of the legacy versions.
    Legacy,
    /// That of a 2025-11-25 session with a server that offers tasks.
    LegacyWithTasks,
}

/// One page of `tools/list` in one era.
pub type ToolsPage = Page<Tool>;

/// One page of `resources/list` in one era.
pub type ResourcesPage = Page<Resource>;

/// One page of `resources/templates/list` in one era.
pub type TemplatesPage = Page<ResourceTemplate>;

/// One page of `prompts/list` in one era.
pub type PromptsPage = Page<Prompt>;

/// Something that a list shows.
///
/// The list is closed: only this crate decides what a client sees.
pub trait Listed: sealed::Sealed {
    /// The name of the list in a result.
    const LIST: &'static str;

    /// Writes it as its client understands it.
    fn write(&self, dialect: Dialect, out: &mut Vec<u8>);
}

impl<T: Listed> Page<T> {
    /// Renders the items of one page, in the order given.
    ///
    /// `next_cursor` is what the next page is asked for with, never empty
    /// (C-PAGE-02); `hints` are shown in the modern era. All pages of a list have
    /// the same scope (M-CACHE-03).
    #[must_use]
    pub fn render<'a>(
        era: Era,
        items: impl IntoIterator<Item = &'a T>,
        next_cursor: Option<&str>,
        hints: CacheHints,
        face: &Face,
    ) -> Self
    where
        T: 'a,
    {
        Self::render_for(era.into(), items, next_cursor, hints, face)
    }

    /// Does what [`render`](Self::render) does, in any dialect.
    #[must_use]
    pub fn render_for<'a>(
        dialect: Dialect,
        items: impl IntoIterator<Item = &'a T>,
        next_cursor: Option<&str>,
        hints: CacheHints,
        face: &Face,
    ) -> Self
    where
        T: 'a,
    {
        let tail = result_tail(|out| match dialect {
            Dialect::Modern => modern::list(out, items, next_cursor, hints, &face.server_info),
            Dialect::Legacy | Dialect::LegacyWithTasks => {
                legacy::list(dialect, out, items, next_cursor);
            }
        });
        Self {
            tail,
            items: PhantomData,
        }
    }

    /// Answers one request for the list with this page; only the head is new.
    #[must_use]
    pub fn respond(&self, id: &RequestId) -> Rendered {
        Rendered::shared(id, &self.tail)
    }
}

impl From<Era> for Dialect {
    fn from(era: Era) -> Self {
        match era {
            Era::Modern => Self::Modern,
            Era::Legacy => Self::Legacy,
        }
    }
}

impl<T> Clone for Page<T> {
    fn clone(&self) -> Self {
        Self {
            tail: self.tail.clone(),
            items: PhantomData,
        }
    }
}

impl Listed for Tool {
    const LIST: &'static str = "tools";

    /// Legacy clients see output schemas of type `object` alone (table 5.0).
    /// `execution` is shown to 2025-11-25 sessions alone (R10); what it says by
    /// default is left out.
    fn write(&self, dialect: Dialect, out: &mut Vec<u8>) {
        let output_schema = match dialect {
            Dialect::Modern => self.output_schema(),
            Dialect::Legacy | Dialect::LegacyWithTasks => self.object_output_schema(),
        };
        let mut object = Object::open(out);
        object.value("name", self.name.as_str());
        object.option("title", self.title.as_deref());
        object.option("description", self.description.as_deref());
        object.value("inputSchema", self.input_schema());
        object.option("outputSchema", output_schema);
        object.option("annotations", self.annotations.as_ref());
        if !self.icons.is_empty() {
            object.value("icons", &self.icons);
        }
        if dialect == Dialect::LegacyWithTasks && self.task_support != TaskSupport::Forbidden {
            let mut execution = object.object("execution");
            execution.value("taskSupport", self.task_support.as_str());
            execution.close();
        }
        object.option("_meta", self.meta.as_ref());
        object.close();
    }
}

impl Listed for Resource {
    const LIST: &'static str = "resources";

    fn write(&self, _dialect: Dialect, out: &mut Vec<u8>) {
        put(out, self);
    }
}

impl Listed for ResourceTemplate {
    const LIST: &'static str = "resourceTemplates";

    fn write(&self, _dialect: Dialect, out: &mut Vec<u8>) {
        put(out, self);
    }
}

impl Listed for Prompt {
    const LIST: &'static str = "prompts";

    fn write(&self, _dialect: Dialect, out: &mut Vec<u8>) {
        put(out, self);
    }
}

// === Behind the handle ===

mod sealed {
    use super::{Prompt, Resource, ResourceTemplate, Tool};

    pub trait Sealed {}

    impl Sealed for Tool {}
    impl Sealed for Resource {}
    impl Sealed for ResourceTemplate {}
    impl Sealed for Prompt {}
}
