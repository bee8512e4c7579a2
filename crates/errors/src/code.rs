//! What a code is. The list of them is in `declared.rs`.

use std::error::Error;
use std::fmt;
use std::hash::{Hash, Hasher};

use crate::Blame;

/// Names one kind of failure for machines and operators, such as `CONFIG-002`.
///
/// A code that was released keeps its name and its meaning for ever.
#[derive(Clone, Copy)]
pub struct Code {
    pub(crate) name: &'static str,
    pub(crate) blame: Blame,
    pub(crate) exit_status: u8,
    pub(crate) page: &'static str,
}

/// An error that has a code.
pub trait Coded: Error {
    /// Returns the code of this error.
    fn code(&self) -> Code;
}

impl Code {
    /// Returns the name, such as `CONFIG-002`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.name
    }

    /// Returns who has to act.
    #[must_use]
    pub const fn blame(self) -> Blame {
        self.blame
    }

    /// Returns the exit status of a process that ends with this code, from 64 to 78.
    #[must_use]
    pub const fn exit_status(self) -> u8 {
        self.exit_status
    }

    /// Returns the page that explains the code, in Markdown.
    #[must_use]
    pub const fn page(self) -> &'static str {
        self.page
    }

    /// Finds the code of this name; upper and lower case do not matter.
    #[must_use]
    pub fn find(name: &str) -> Option<Self> {
        Self::all()
            .iter()
            .copied()
            .find(|code| code.name.eq_ignore_ascii_case(name))
    }
}

impl PartialEq for Code {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Code {}

impl Hash for Code {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name.hash(state);
    }
}

impl fmt::Debug for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Code({})", self.name)
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}
