use std::collections::{BTreeMap, HashMap};

use conduit_protocol::{CacheScope, Code, Outcome};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::*;
use crate::trial::{builder, built, complete, context, context_of, json, read, refusal, refused};
use crate::{
    Era, Json, Policy, Run, Server, TemplateBuilder, ToolError, ToolboxBuilder, blocking_prompt,
    blocking_resource, blocking_template, prompt, resource, template,
};

#[derive(Deserialize, JsonSchema)]
struct Travel {
    /// Where to go.
    city: String,
    /// For how long.
    days: Option<u8>,
}

#[derive(Serialize, JsonSchema)]
struct User {
    id: u64,
}

async fn travel(plan: Travel, _context: Context) -> String {
    format!("{} days in {}", plan.days.unwrap_or(2), plan.city)
}

fn user() -> TemplateBuilder {
    template("user://{id}", "user", |id: u64, _| async move {
        (id < 10).then_some(Json(User { id }))
    })
}

#[track_caller]
fn catalog(builder: ToolboxBuilder) -> Catalog {
    built(builder).catalog()
}

fn arguments(pairs: &[(&str, &str)]) -> PromptArguments {
    let pairs = pairs.iter();
    PromptArguments::new(
        pairs
            .map(|(name, value)| ((*name).into(), (*value).into()))
            .collect(),
    )
}

fn wanted(reference: Reference<'static>, argument: &str, value: &str) -> CompletionRequest {
    CompletionRequest {
        reference,
        argument: argument.to_owned(),
        value: value.to_owned(),
        known: BTreeMap::new(),
    }
}

fn of_prompt(name: &str, argument: &str, value: &str) -> CompletionRequest {
    wanted(Reference::Prompt(name.to_owned().into()), argument, value)
}

fn of_template(uri: &str, argument: &str, value: &str) -> CompletionRequest {
    wanted(Reference::Resource(uri.to_owned().into()), argument, value)
}

#[tokio::test]
async fn a_resource_is_read_by_its_uri() {
    let catalog = catalog(
        builder()
            .resource(resource("text://a", "a", |_| async { "A" }))
            .resource(blocking_resource("text://b", "b", |_| {
                Ok::<_, ToolError>("B")
            })),
    );

    let a = json!([{"uri": "text://a", "mimeType": "text/plain", "text": "A"}]);
    assert_eq!(read(&catalog, "text://a").await, a);
    assert_eq!(read(&catalog, "text://b").await[0]["text"], "B");
    assert!(catalog.read_resource("text://c", context()).is_none());
    assert!(catalog.read_resource("TEXT://a", context()).is_none());
}

#[tokio::test]
async fn a_template_hands_its_variables_to_the_function() {
    let catalog = catalog(
        builder()
            .template(template("doc:///{name}", "doc", |name: String, _| async {
                name
            }))
            .template(blocking_template(
                "map://{x}/{y}",
                "map",
                |at: HashMap<String, i8>, _| format!("{} {}", at["x"], at["y"]),
            )),
    );

    let doc = read(&catalog, "doc:///hello%20world%2Fx%25").await;

    assert_eq!(doc[0]["text"], "hello world/x%");
    assert_eq!(doc[0]["uri"], "doc:///hello%20world%2Fx%25");
    assert_eq!(read(&catalog, "doc:///a+b").await[0]["text"], "a+b");
    assert_eq!(read(&catalog, "map://3/-4").await[0]["text"], "3 -4");
}

#[tokio::test]
async fn a_resource_comes_before_a_template_and_the_first_template_before_others() {
    let say = |uri: &'static str, text: &'static str| {
        template(uri, "x", move |_: HashMap<String, String>, _| async move {
            text
        })
    };
    let catalog = catalog(
        builder()
            .template(say("x://{a}", "first"))
            .template(say("x://{a}.txt", "second"))
            .resource(resource("x://static", "x", |_| async { "static" })),
    );

    assert_eq!(read(&catalog, "x://static").await[0]["text"], "static");
    assert_eq!(read(&catalog, "x://b.txt").await[0]["text"], "first");
}

#[tokio::test]
async fn what_a_function_does_not_find_is_no_resource_in_the_words_of_the_era() {
    let catalog = catalog(builder().template(user()));

    for uri in ["user://10", "user://me", "user://-1"] {
        for (era, code) in [
            (Era::Modern, Code::INVALID_PARAMS),
            (Era::Legacy, Code::RESOURCE_NOT_FOUND),
        ] {
            let error = refusal(catalog.read_resource(uri, context_of(era))).await;

            assert_eq!(error.code, code, "{uri}");
            assert_eq!(json(&error)["data"]["uri"], uri);
        }
    }
    let found = read(&catalog, "user://7").await;
    let seven = json!([
        {"uri": "user://7", "mimeType": "application/json", "text": "{\"id\":7}"}
    ]);
    assert_eq!(found, seven);
}

#[tokio::test]
async fn a_broken_escape_is_a_wrong_parameter_in_both_eras() {
    let catalog = catalog(builder().template(template(
        "doc:///{name}",
        "doc",
        |_: String, _| async { panic!("called") as &str },
    )));

    for era in [Era::Modern, Era::Legacy] {
        let error = refusal(catalog.read_resource("doc:///%zz", context_of(era))).await;

        assert_eq!(error.code, Code::INVALID_PARAMS);
        assert!(error.message.contains("params.uri"), "{error}");
    }
}

#[tokio::test]
async fn what_is_read_may_be_kept_as_its_author_said() {
    let hints = CacheHints {
        ttl_ms: 5000,
        scope: CacheScope::Public,
    };
    let catalog = catalog(
        builder()
            .resource(resource("text://a", "a", |_| async { "A" }).cache(hints))
            .resource(
                resource("text://b", "b", |_| async {
                    ReadResult {
                        cache: Some(CacheHints::default()),
                        ..ReadResult::text("text://b", "B")
                    }
                })
                .cache(hints),
            )
            .template(user()),
    );
    let cache = async |uri| complete(catalog.read_resource(uri, context())).await.cache;

    assert_eq!(cache("text://a").await, Some(hints));
    assert_eq!(cache("text://b").await, Some(CacheHints::default()));
    assert_eq!(cache("user://1").await, Some(CacheHints::default()));
}

#[tokio::test]
async fn a_prompt_is_filled_in() {
    let catalog = catalog(builder().prompt(prompt("travel", "Plans", travel)).prompt(
        blocking_prompt("raw", "Any", |all: PromptArguments, _| {
            all.iter()
                .map(|(name, value)| format!("{name}={value};"))
                .collect::<String>()
        }),
    ));
    let get = async |name, pairs: &[(&str, &str)]| {
        let job = catalog.get_prompt(name, arguments(pairs), context());
        json(&complete(job).await.messages)[0]["content"]["text"].clone()
    };

    assert_eq!(
        get("travel", &[("city", "Rome"), ("days", "3")]).await,
        "3 days in Rome"
    );
    assert_eq!(get("travel", &[("city", "Rome")]).await, "2 days in Rome");
    assert_eq!(get("raw", &[("b", "2"), ("a", "1")]).await, "a=1;b=2;");
    assert!(
        catalog
            .get_prompt("other", arguments(&[]), context())
            .is_none()
    );
}

#[tokio::test]
async fn a_prompt_without_a_required_argument_is_refused() {
    let catalog = catalog(
        builder().prompt(prompt("travel", "Plans", travel)).prompt(
            prompt("raw", "Any", |_: PromptArguments, _| async { "called" })
                .required("a", "The first")
                .optional("b", "The second"),
        ),
    );
    let error = async |name, pairs: &[(&str, &str)]| {
        refusal(catalog.get_prompt(name, arguments(pairs), context())).await
    };

    for error in [
        error("travel", &[("days", "3")]).await,
        error("raw", &[("b", "")]).await,
        error("travel", &[("city", "Rome"), ("days", "many")]).await,
    ] {
        assert_eq!(error.code, Code::INVALID_PARAMS, "{error}");
    }
}

#[test]
fn a_prompt_lists_its_arguments() {
    let builder = builder().prompt(
        prompt("travel", "Plans a trip", travel)
            .title("A trip")
            .required("days", "How many days")
            .optional("mood", "How it should feel"),
    );

    let catalog = catalog(builder);

    assert_eq!(
        json(&catalog.entries().prompts[0].definition),
        json!({
            "name": "travel",
            "title": "A trip",
            "description": "Plans a trip",
            "arguments": [
                {"name": "city", "description": "Where to go.", "required": true},
                {"name": "days", "description": "How many days", "required": true},
                {"name": "mood", "description": "How it should feel"},
            ],
        })
    );
}

#[test]
fn resources_and_templates_list_what_their_author_said() {
    let catalog = catalog(
        builder()
            .resource(
                resource("text://a", "a", |_| async { "A" })
                    .title("An A")
                    .description("The letter")
                    .mime_type("text/markdown")
                    .size(1),
            )
            .template(user().title("Somebody")),
    );

    assert_eq!(
        json(&catalog.entries().resources[0].definition),
        json!({
            "uri": "text://a",
            "name": "a",
            "title": "An A",
            "description": "The letter",
            "mimeType": "text/markdown",
            "size": 1,
        })
    );
    assert_eq!(
        json(&catalog.entries().templates[0].definition),
        json!({
            "uriTemplate": "user://{id}",
            "name": "user",
            "title": "Somebody",
            "mimeType": "application/json",
        })
    );
}

#[test]
fn each_job_says_how_it_is_to_be_treated() {
    let one = NonZeroUsize::MIN;
    let catalog = catalog(
        builder()
            .resource(resource("text://a", "a", |_| async { "A" }).inline())
            .template(user().concurrency(one))
            .prompt(blocking_prompt("p", "", |_: PromptArguments, _| "p")),
    );

    let resource = catalog.read_resource("text://a", context()).expect("a job");
    let user = || catalog.read_resource("user://1", context()).expect("a job");
    let (first, second) = (user(), user());
    let prompt = catalog
        .get_prompt("p", arguments(&[]), context())
        .expect("a job");

    assert_eq!(
        (&*resource.name, resource.policy.run),
        ("text://a", Run::Inline)
    );
    assert_eq!(&*first.name, "user://{id}");
    let (first, second) = (
        first.permits.expect("a limit"),
        second.permits.expect("a limit"),
    );
    assert!(Arc::ptr_eq(&first, &second));
    assert_eq!(
        (&*prompt.name, prompt.policy),
        ("p", Policy::new(Run::Blocking))
    );
}

#[tokio::test]
async fn an_argument_is_completed_by_its_own_function() {
    let catalog = catalog(
        builder()
            .prompt(
                prompt("travel", "Plans", travel)
                    .suggest("city", ["Paris", "Prague", "Rome"])
                    .complete("days", |request: CompletionRequest, _| async move {
                        [format!("{} in {:?}", request.value, request.known)]
                    }),
            )
            .template(user().suggest("id", ["1", "12", "7"])),
    );
    let values = async |request| complete(catalog.complete(request, context())).await.values;

    assert_eq!(
        values(of_prompt("travel", "city", "p")).await,
        ["Paris", "Prague"]
    );
    assert_eq!(
        values(of_template("user://{id}", "id", "1")).await,
        ["1", "12"]
    );
    assert_eq!(values(of_template("user://5", "id", "7")).await, ["7"]);
    let mut days = of_prompt("travel", "days", "3");
    days.known.insert("city".to_owned(), "Rome".to_owned());
    assert_eq!(values(days).await, [r#"3 in {"city": "Rome"}"#]);
}

#[tokio::test]
async fn what_nobody_completes_is_not_completed() {
    let catalog = catalog(
        builder()
            .resource(resource("text://a", "a", |_| async { "A" }))
            .prompt(prompt("travel", "Plans", travel).suggest("city", ["Rome"])),
    );

    for request in [
        of_prompt("travel", "days", ""),
        of_prompt("travel", "other", ""),
        of_template("text://a", "x", ""),
    ] {
        assert!(catalog.complete(request, context()).is_none());
    }
    for request in [
        of_prompt("other", "city", ""),
        of_template("user://{id}", "id", ""),
    ] {
        let error = refusal(catalog.complete(request, context())).await;
        assert_eq!(error.code, Code::INVALID_PARAMS);
    }
}

#[tokio::test]
async fn a_server_that_completes_nothing_refuses_nothing() {
    let catalog = catalog(builder());

    assert!(
        catalog
            .complete(of_prompt("other", "a", ""), context())
            .is_none()
    );
}

#[tokio::test]
async fn one_function_may_complete_what_others_do_not() {
    let catalog = catalog(
        builder()
            .prompt(prompt("travel", "Plans", travel).suggest("city", ["Rome"]))
            .completion(|request: CompletionRequest, _| async move { [request.argument] }),
    );
    let values = async |request| complete(catalog.complete(request, context())).await.values;

    assert_eq!(values(of_prompt("travel", "city", "")).await, ["Rome"]);
    assert_eq!(values(of_prompt("travel", "days", "")).await, ["days"]);
}

#[test]
fn what_is_the_same_twice_is_refused() {
    let text = |uri: &str| resource(uri, "x", |_| async { "x" });
    let one = |uri: &str| template(uri, "x", |_: String, _| async { "x" });
    let ask = |name: &str| prompt(name, "", |_: PromptArguments, _| async { "x" });

    for (builder, mistake) in [
        (
            builder().resource(text("x://a")).resource(text("x://a")),
            "two resources have the URI `x://a`",
        ),
        (
            builder().template(one("x://{a}")).template(one("x://{b}")),
            "the templates `x://{a}` and `x://{b}` match the same URIs",
        ),
        (
            builder().prompt(ask("a")).prompt(ask("a")),
            "two prompts are called `a`",
        ),
    ] {
        assert_eq!(refused(builder).to_string(), mistake);
    }
}

#[test]
fn what_nobody_could_ask_for_is_refused() {
    let ask = |name: &str| prompt(name, "", |_: PromptArguments, _| async { "x" });

    for builder in [
        builder().resource(resource("a.txt", "x", |_| async { "x" })),
        builder().resource(resource("x://{a}", "x", |_| async { "x" })),
        builder().template(template("x://a", "x", |_: String, _| async { "x" })),
        builder().template(template("x://{+a}", "x", |_: String, _| async { "x" })),
        builder().template(template("x://{a}/{b}", "x", |_: String, _| async { "x" })),
        builder().prompt(ask("")),
        builder().prompt(ask("a").suggest("b", ["c"])),
        builder().template(user().suggest("name", ["c"])),
    ] {
        let mistake = refused(builder).to_string();
        assert!(!mistake.is_empty());
    }
}

#[test]
fn a_catalog_can_be_made_without_a_toolbox() {
    let entries = Entries {
        prompts: vec![Arc::new(PromptEntry::new(
            conduit_protocol::Prompt::new("hi"),
            Policy::new(Run::Inline),
            |_, _| crate::Work::ready(Outcome::Complete(PromptResult::text("hi"))),
        ))],
        ..Entries::default()
    };

    let catalog = Catalog::new(7, entries).expect("a catalog");

    assert_eq!(catalog.version(), 7);
    assert!(
        catalog
            .get_prompt("hi", arguments(&[]), context())
            .is_some()
    );
}
