//! Pages of lists.

use conduit_protocol::{CacheHints, Listed, Page, Prompt, Resource, ResourceTemplate, Tool};

use crate::sample::{face, id, prompts, resources, templates, tools};
use crate::{fits_result, versions};

/// Checks a page with these items that is not the last one, and an empty one.
#[track_caller]
fn fits_each_version<T: Listed>(definition: &str, items: &[T]) {
    for (era, version) in versions() {
        let hints = CacheHints::default();
        let page = Page::render(era, items, Some("p2"), hints, &face());
        fits_result(version, definition, page.respond(&id()));
        let empty = Page::<T>::render(era, [], None, hints, &face());
        fits_result(version, definition, empty.respond(&id()));
    }
}

#[test]
fn a_list_of_tools_fits_each_version() {
    fits_each_version::<Tool>("ListToolsResult", &tools());
}

#[test]
fn a_list_of_resources_fits_each_version() {
    fits_each_version::<Resource>("ListResourcesResult", &resources());
}

#[test]
fn a_list_of_templates_fits_each_version() {
    fits_each_version::<ResourceTemplate>("ListResourceTemplatesResult", &templates());
}

#[test]
fn a_list_of_prompts_fits_each_version() {
    fits_each_version::<Prompt>("ListPromptsResult", &prompts());
}
