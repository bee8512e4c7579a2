//! Pages of lists, rendered once and shared by all who ask.

use bytes::Bytes;
use serde_json::value::RawValue;

use crate::era::Era;
use crate::id::RequestId;
use crate::shape::face::{CacheHints, Face};
use crate::shape::json::Object;
use crate::shape::{Rendered, legacy, modern, result_tail};
use crate::tools::Tool;

/// One page of `tools/list` in one era. Cloning is cheap.
#[derive(Clone, Debug)]
pub struct ToolsPage {
    tail: Bytes,
}

impl ToolsPage {
    /// Renders the tools of one page, in the order given.
    ///
    /// `next_cursor` is what the next page is asked for with, never empty
    /// (C-PAGE-02); `hints` are shown in the modern era. All pages of a list have
    /// the same scope (M-CACHE-03).
    #[must_use]
    pub fn render<'a>(
        era: Era,
        tools: impl IntoIterator<Item = &'a Tool>,
        next_cursor: Option<&str>,
        hints: CacheHints,
        face: &Face,
    ) -> Self {
        let tail = result_tail(|out| match era {
            Era::Modern => modern::tools(out, tools, next_cursor, hints, &face.server_info),
            Era::Legacy => legacy::tools(out, tools, next_cursor),
        });
        Self { tail }
    }

    /// Answers one `tools/list` with this page; only the head is new.
    #[must_use]
    pub fn respond(&self, id: &RequestId) -> Rendered {
        Rendered::shared(id, &self.tail)
    }
}

// === Behind the handle ===

/// Writes a tool with the output schema that its reader understands (C-TYPE-09).
pub(super) fn tool(out: &mut Vec<u8>, tool: &Tool, output_schema: Option<&RawValue>) {
    let mut object = Object::open(out);
    object.value("name", tool.name.as_str());
    object.option("title", tool.title.as_deref());
    object.option("description", tool.description.as_deref());
    object.value("inputSchema", tool.input_schema());
    object.option("outputSchema", output_schema);
    object.option("annotations", tool.annotations.as_ref());
    if !tool.icons.is_empty() {
        object.value("icons", &tool.icons);
    }
    object.option("_meta", tool.meta.as_ref());
    object.close();
}
