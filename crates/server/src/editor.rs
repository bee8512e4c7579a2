//! Changes a toolbox while it is served.

#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::{Arc, OnceLock, Weak};

use parking_lot::{Mutex, RwLock};

use crate::completion::Completer;
use crate::{Catalog, Change, Changes, Edit, Entries, InvalidServer, Listings, Published};

/// Changes a [`Toolbox`](crate::Toolbox) while it is served; cheap to clone.
///
/// A toolbox lives in each process that serves, and an edit changes the one in this
/// process. So decide from something that all of them see (a database, a file), or let
/// one gateway serve. What is called already goes on, even if it has left.
///
/// ```
/// use conduit_server::{Context, Edit, NoArguments, Toolbox, ToolError, tool};
///
/// let mut builder = Toolbox::builder("menu", "1.0.0");
/// let editor = builder.editor();
/// let open = tool("open", "Opens the kitchen", move |_: NoArguments, _: Context| {
///     let editor = editor.clone();
///     async move {
///         let soup = tool("soup", "Serves a soup", |_: NoArguments, _| async { "soup" });
///         editor.apply(Edit::new().tool(soup).without_tool("open"))?.await;
///         Ok::<_, ToolError>("the kitchen is open")
///     }
/// });
/// let toolbox = builder.tool(open).build()?;
/// # Ok::<(), conduit_server::InvalidServer>(())
/// ```
#[derive(Clone)]
pub struct Editor(Weak<Contents>);

impl Editor {
    /// Changes the toolbox, and tells clients which of its lists have changed.
    ///
    /// The change is made when this returns, and on its way to the clients; await what
    /// it returns to know that it got there (R41). Does nothing before the toolbox is
    /// built, nor after the last use of it.
    ///
    /// # Errors
    ///
    /// [`InvalidServer`] when something that is added cannot be served. Nothing has
    /// changed then.
    pub fn apply(&self, edit: Edit) -> Result<Published, InvalidServer> {
        match self.0.upgrade() {
            Some(contents) => contents.apply(edit),
            None => Ok(Published::default()),
        }
    }
}

impl fmt::Debug for Editor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Editor").field(&self.0.upgrade()).finish()
    }
}

// === Behind the handle ===

/// What a toolbox has, now and after each edit.
#[derive(Debug, Default)]
pub(crate) struct Contents {
    /// A lock because callbacks edit on their threads, and the loop reads; it is held
    /// for as long as a pointer takes to copy.
    catalog: RwLock<Catalog>,
    /// One edit at a time.
    editing: Mutex<()>,
    changes: OnceLock<Changes>,
}

impl Contents {
    pub(crate) fn editor(self: &Arc<Self>) -> Editor {
        Editor(Arc::downgrade(self))
    }

    pub(crate) fn catalog(&self) -> Catalog {
        self.catalog.read().clone()
    }

    pub(crate) fn changes(&self) -> Changes {
        self.changes.get().cloned().unwrap_or_default()
    }

    /// Returns whether these are the first.
    pub(crate) fn attach(&self, changes: Changes) -> bool {
        self.changes.set(changes).is_ok()
    }

    /// Fills in what the toolbox begins with.
    pub(crate) fn open(&self, catalog: Catalog) {
        *self.catalog.write() = catalog;
    }

    fn apply(&self, edit: Edit) -> Result<Published, InvalidServer> {
        let checked = edit.check()?;
        let changed: Vec<Change>;
        {
            let _alone = self.editing.lock();
            let before = self.catalog();
            let mut entries = before.entries().clone();
            changed = checked.apply(&mut entries);
            if !changed.is_empty() {
                let completer = before.completer().cloned();
                let next = before.version() + 1;
                let after = Catalog::with_completer(next, entries, completer)?;
                *self.catalog.write() = after;
            }
        }
        let changes = self.changes();
        let published = changed.into_iter().map(|change| changes.publish(change));
        Ok(published.collect())
    }
}

/// Opens a catalog with what a builder has collected.
pub(crate) fn first_catalog(
    edit: Edit,
    listings: Listings,
    completer: Option<Completer>,
) -> Result<Catalog, InvalidServer> {
    let mut entries = Entries {
        listings,
        ..Entries::default()
    };
    edit.check()?.apply(&mut entries);
    Catalog::with_completer(1, entries, completer)
}
