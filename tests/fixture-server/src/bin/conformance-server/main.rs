//! A server for the official conformance suite and for the tours of real clients, made
//! only of the public API of `conduit`.
//!
//! Names, texts and schemas are what those expect, to the letter: `test_…` and
//! `test://…` are the suite's, `tour_…` and `tour://…` the tours'.

mod content;
mod input;
mod jobs;
mod prompts;
mod resources;
mod schema;
mod talking;
mod tour;
mod triggers;

use std::process::ExitCode;

use conduit::{Toolbox, ToolboxBuilder};

fn main() -> ExitCode {
    conduit::run(server())
}

/// The first tool that is listed has to succeed without arguments.
fn server() -> ToolboxBuilder {
    Toolbox::builder("conformance", env!("CARGO_PKG_VERSION"))
        .title("Conformance")
        .instructions("A server for the conformance suite and for tours.")
        .logging()
        .list_changes()
        .resource_updates()
        .tools(content::tools())
        .tools(talking::tools())
        .tools(triggers::tools())
        .tools(schema::tools())
        .tools(input::tools())
        .tools(jobs::tools())
        .tools(tour::tools())
        .resources(resources::resources())
        .resources_page(resources::PAGE)
        .template(resources::data())
        .prompts(prompts::prompts())
}

#[cfg(test)]
mod tests {
    use conduit::Server;

    use super::*;

    #[test]
    fn what_the_suite_calls_first_is_first() {
        let server = server().build().expect("a server");

        let catalog = server.catalog();
        let names: Vec<_> = catalog
            .entries()
            .tools
            .iter()
            .map(|tool| tool.definition.name.as_str())
            .collect();
        assert_eq!(names.first(), Some(&"test_simple_text"));
    }

    #[test]
    fn everything_has_a_description() {
        let server = server().build().expect("a server");

        let catalog = server.catalog();
        let entries = catalog.entries();
        let tools = entries.tools.iter();
        assert!(
            tools
                .clone()
                .all(|tool| tool.definition.description.is_some())
        );
        let resources = entries.resources.iter();
        assert!(
            resources
                .clone()
                .all(|one| one.definition.description.is_some())
        );
        let prompts = entries.prompts.iter();
        assert!(
            prompts
                .clone()
                .all(|prompt| prompt.definition.description.is_some())
        );
    }

    #[test]
    fn all_that_the_suite_wants_is_offered() {
        let server = server().build().expect("a server");

        let offered = server.offers().overlay(server.capabilities());

        assert!(offered.completions && offered.logging && offered.tasks);
        assert!(offered.tools.is_some_and(|tools| tools.list_changed));
        assert!(offered.prompts.is_some_and(|prompts| prompts.list_changed));
        let resources = offered.resources.expect("resources");
        assert!(resources.subscribe && resources.list_changed);
    }
}
