//! The list of all codes.
//!
//! To add one: a line here, and a page in `codes/`. None is ever removed.

use crate::{Blame, Code};

/// Declares codes: `NAME = "CODE", Blame;`, with an exit status of its own where
/// that of the blame is not exact enough: `NAME = "CODE", Blame, exit 69;`.
macro_rules! declare_codes {
    ($($(#[doc = $doc:literal])+ $constant:ident = $name:literal, $blame:ident $(, exit $exit:literal)?;)+) => {
        impl Code {
            $(
                $(#[doc = $doc])+
                pub const $constant: Self = Self {
                    name: $name,
                    blame: Blame::$blame,
                    exit_status: declare_codes!(@exit $blame $($exit)?),
                    page: include_str!(concat!("../codes/", $name, ".md")),
                };
            )+

            /// Returns all codes, in the order of their declaration.
            #[must_use]
            pub const fn all() -> &'static [Self] {
                &[$(Self::$constant),+]
            }
        }
    };
    (@exit $blame:ident $exit:literal) => { $exit };
    (@exit $blame:ident) => { Blame::$blame.exit_status() };
}

declare_codes! {
    /// The server that the binary is built for has a mistake in its definition.
    SERVER_INVALID = "SERVER-001", Us;
    /// The command line asks for something that does not exist.
    USAGE = "USAGE-001", Client;
    /// The configuration file cannot be read.
    CONFIG_UNREADABLE = "CONFIG-001", Operator;
    /// A setting is unknown, of the wrong type, impossible, or at odds with another.
    CONFIG_INVALID = "CONFIG-002", Operator;
    /// An address to listen at is taken, or this machine does not have it.
    ADDRESS_UNAVAILABLE = "ADDRESS-001", Operator, exit 69;
    /// The state directory cannot be made, read or written.
    STATE_UNUSABLE = "STATE-001", Operator, exit 73;
    /// Another instance uses the state directory.
    STATE_HELD = "STATE-002", Operator, exit 75;
    /// The database of sessions is damaged, or too new for this version.
    DATABASE_UNUSABLE = "STORE-001", Operator, exit 73;
    /// The key ring is open to others, or is no key ring.
    KEYS_UNUSABLE = "KEYS-001", Operator, exit 73;
    /// A child process cannot be started.
    CHILD_UNSTARTABLE = "CHILD-001", Us;
    /// A child process was started without what its supervisor hands down.
    CHILD_ORPHANED = "CHILD-002", Us;
    /// A gateway was started without its listening socket.
    LISTENER_MISSING = "CHILD-003", Us;
    /// A command needs a supervisor that runs, and none answers.
    SUPERVISOR_SILENT = "SUPERVISOR-001", Operator, exit 69;
    /// What was wished for is kept, but the processes are not there in time.
    SCALE_UNFINISHED = "SUPERVISOR-002", Operator, exit 69;
    /// What a command had to say could not be written.
    OUTPUT_UNWRITABLE = "OUTPUT-001", Operator, exit 69;
    /// Something that cannot happen has happened.
    INTERNAL = "INTERNAL-001", Us;
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::fs;

    use super::*;

    #[test]
    fn no_two_codes_share_a_name() {
        let names: HashSet<_> = Code::all().iter().map(|code| code.name()).collect();

        assert_eq!(names.len(), Code::all().len());
    }

    #[test]
    fn every_page_is_headed_by_its_code_and_has_three_sections_in_order() {
        for code in Code::all() {
            let headings: Vec<_> = code
                .page()
                .lines()
                .filter(|line| line.starts_with('#'))
                .collect();
            let (title, sections) = headings.split_first().unwrap();

            assert!(title.starts_with(&format!("# {code}: ")), "{title}");
            assert_eq!(
                sections,
                ["## Meaning", "## Cause", "## What to do"],
                "{code}"
            );
        }
    }

    #[test]
    fn every_page_belongs_to_a_code() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/codes");

        for entry in fs::read_dir(folder).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();

            assert!(Code::find(name.trim_end_matches(".md")).is_some(), "{name}");
        }
    }

    #[test]
    fn exit_statuses_are_those_that_scripts_know() {
        let statuses: Vec<_> = Code::all()
            .iter()
            .map(|code| (code.name(), code.exit_status()))
            .collect();

        assert_eq!(
            statuses,
            [
                ("SERVER-001", 70),
                ("USAGE-001", 64),
                ("CONFIG-001", 78),
                ("CONFIG-002", 78),
                ("ADDRESS-001", 69),
                ("STATE-001", 73),
                ("STATE-002", 75),
                ("STORE-001", 73),
                ("KEYS-001", 73),
                ("CHILD-001", 70),
                ("CHILD-002", 70),
                ("CHILD-003", 70),
                ("SUPERVISOR-001", 69),
                ("SUPERVISOR-002", 69),
                ("OUTPUT-001", 69),
                ("INTERNAL-001", 70),
            ]
        );
    }

    #[test]
    fn a_code_is_found_in_any_case() {
        assert_eq!(Code::find("config-002"), Some(Code::CONFIG_INVALID));
    }

    #[test]
    fn an_unknown_code_is_not_found() {
        assert_eq!(Code::find("CONFIG-999"), None);
    }
}
