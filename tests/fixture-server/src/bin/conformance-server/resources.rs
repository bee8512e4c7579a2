//! Resources: three that the suite reads, one that asks, a template, and as many as make
//! pages.

use std::num::NonZeroUsize;

use conduit::schemars::JsonSchema;
use conduit::serde::Serialize;
use conduit::{Json, ResourceBuilder, TemplateBuilder, resource, template};

use crate::content::PNG;
use crate::input;

/// Resources on one page.
pub(crate) const PAGE: NonZeroUsize = const { NonZeroUsize::new(10).unwrap() };

/// So many that there are three pages.
const ITEMS: u8 = 25;

#[derive(Serialize, JsonSchema)]
#[serde(crate = "conduit::serde", rename_all = "camelCase")]
#[schemars(crate = "conduit::schemars")]
struct Data {
    id: String,
    template_test: bool,
    data: String,
}

pub(crate) fn resources() -> impl Iterator<Item = ResourceBuilder> {
    let fixed = [
        resource("test://static-text", "static-text", |_| async {
            "This is the content of the static text resource."
        })
        .description("A text that stays the same."),
        resource("test://static-binary", "static-binary", |_| async { PNG })
            .mime_type("image/png")
            .description("A picture that stays the same."),
        resource("test://watched-resource", "watched-resource", |_| async {
            "This is the content of the watched resource."
        })
        .description("A text to subscribe to."),
    ];
    let asking = std::iter::once(input::asking_resource());
    fixed.into_iter().chain(asking).chain((1..=ITEMS).map(item))
}

pub(crate) fn data() -> TemplateBuilder {
    template(
        "test://template/{id}/data",
        "template",
        |id: String, _| async move {
            Json(Data {
                data: format!("Data for ID: {id}"),
                template_test: true,
                id,
            })
        },
    )
    .description("Data of any id.")
    .suggest("id", ["1", "12", "123"])
}

fn item(number: u8) -> ResourceBuilder {
    let (uri, name) = (format!("tour://item/{number}"), format!("item-{number}"));
    resource(uri, name, move |_| async move {
        format!("This is item {number}.")
    })
    .description(format!("Item {number} of {ITEMS}."))
}
