use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use conduit_protocol::{Code, Outcome};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::Server;
use crate::trial::{Rounds, asked, builder, built, is_internal, keys, text_of};
use crate::{
    Arguments, Context, Elicited, InputRequest, NoArguments, PromptArguments, Questions, ToolError,
    Toolbox, WireError, Work, blocking_tool, form, prompt, raw_form, resource, roots, sample, tool,
    visit,
};

#[derive(Debug, Deserialize, JsonSchema)]
struct Name {
    name: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct Age {
    #[schemars(range(min = 0, max = 150))]
    age: u8,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct Consent {
    yes: bool,
}

fn accept(content: &Value) -> Value {
    json!({"action": "accept", "content": content})
}

/// A toolbox with one tool, of a function.
fn one<F, R>(ask: F) -> Toolbox
where
    F: Fn(NoArguments, Context) -> R + Send + Sync + 'static,
    R: Future<Output = Result<String, ToolError>> + Send + 'static,
{
    built(builder().tool(tool("ask", "Asks", ask)))
}

/// Prepares a call of its tool.
fn call(toolbox: &Toolbox) -> impl FnOnce(Context) -> Work + use<> {
    let tool = Arc::clone(&toolbox.catalog().entries().tools[0]);
    move |context| tool.call(Arguments::none(), context)
}

/// A callback in one straight line: each line needs the answer of the one before.
async fn register(_: NoArguments, context: Context) -> Result<String, ToolError> {
    let Name { name } = context
        .ask(form::<Name>("name", "Who are you?"))?
        .accepted()?;
    let Age { age } = context
        .ask(form::<Age>("age", format!("How old are you, {name}?")))?
        .accepted()?;
    let consent = form::<Consent>("consent", format!("Is it true that {name} is {age}?"));
    match context.ask(consent)? {
        Elicited::Accepted(Consent { yes: true }) => Ok(format!("{name}, {age}")),
        Elicited::Accepted(_) | Elicited::Declined | Elicited::Cancelled => {
            Err(ToolError::new("nobody was registered"))
        }
    }
}

#[tokio::test]
async fn a_straight_line_goes_over_three_rounds() {
    let toolbox = one(register);
    let mut rounds = Rounds::default();

    let first = rounds.run(json!({}), call(&toolbox)).await;
    let second = rounds
        .run(
            json!({"name": accept(&json!({"name": "Ada"}))}),
            call(&toolbox),
        )
        .await;
    let third = rounds
        .run(json!({"age": accept(&json!({"age": 36}))}), call(&toolbox))
        .await;
    let last = rounds
        .run(
            json!({"consent": accept(&json!({"yes": true}))}),
            call(&toolbox),
        )
        .await;

    assert_eq!(keys(&first), ["name"]);
    let [(key, question)] = &asked(&second)[..] else {
        panic!("one question");
    };
    assert_eq!(*key, "age");
    assert_eq!(question["params"]["message"], "How old are you, Ada?");
    assert_eq!(
        asked(&third)[0].1["params"]["message"],
        "Is it true that Ada is 36?"
    );
    assert_eq!(text_of(&last), "Ada, 36");
}

#[tokio::test]
async fn one_that_has_all_answers_at_once_asks_nothing() {
    let answers = json!({
        "consent": accept(&json!({"yes": true})),
        "name": accept(&json!({"name": "Ada"})),
        "age": accept(&json!({"age": 36})),
    });

    let outcome = Rounds::default().run(answers, call(&one(register))).await;

    assert_eq!(text_of(&outcome), "Ada, 36");
}

#[tokio::test]
async fn who_says_no_ends_it_with_a_text() {
    let toolbox = one(register);
    let end = async |answer: &str| {
        let answers = json!({"name": {"action": answer}});
        Rounds::default().run(answers, call(&toolbox)).await
    };

    let declined = end("decline").await;
    assert_eq!(text_of(&declined), "the user has declined to answer");
    assert!(matches!(declined, Outcome::Complete(result) if result.is_error));
    let dismissed = end("cancel").await;
    assert_eq!(text_of(&dismissed), "the user has dismissed the question");
}

#[tokio::test]
async fn what_does_not_fit_is_asked_for_again() {
    let toolbox = one(register);

    for answer in [
        json!(null),
        json!("Ada"),
        json!({"name": "Ada"}),
        json!({"action": "agree", "content": {"name": "Ada"}}),
        json!({"action": "accept"}),
        json!({"roots": []}),
        accept(&json!(["Ada"])),
        accept(&json!({})),
        accept(&json!({"name": 7})),
        accept(&json!({"name": null})),
    ] {
        let outcome = Rounds::default()
            .run(json!({"name": answer}), call(&toolbox))
            .await;

        assert_eq!(keys(&outcome), ["name"], "{answer}");
    }
}

#[tokio::test]
async fn what_breaks_a_bound_is_asked_for_again_and_the_rest_stays() {
    let toolbox = one(register);
    let mut rounds = Rounds::default();
    let name =
        json!({"name": accept(&json!({"name": "Ada"})), "age": accept(&json!({"age": 200}))});

    let again = rounds.run(name, call(&toolbox)).await;
    let after = rounds
        .run(
            json!({"age": accept(&json!({"age": 36.0}))}),
            call(&toolbox),
        )
        .await;

    assert_eq!(keys(&again), ["age"]);
    assert_eq!(keys(&after), ["consent"]);
}

#[tokio::test]
async fn what_nobody_asked_for_is_not_looked_at() {
    let toolbox = one(register);
    let mut rounds = Rounds::default();
    let answers = json!({
        "unknown": {"action": 1},
        "name": {"action": "accept", "content": {"name": "Ada", "color": [{}]}, "extra": true},
    });

    let outcome = rounds.run(answers, call(&toolbox)).await;
    assert_eq!(keys(&outcome), ["age"]);

    let outcome = rounds.run(json!({}), call(&toolbox)).await;
    assert_eq!(keys(&outcome), ["age"]);
}

/// Asks for everything at once.
async fn everything(_: NoArguments, context: Context) -> Result<String, ToolError> {
    let schema = json!({
        "type": "object",
        "properties": {"n": {"type": "number"}},
        "required": ["n"],
    });
    let visits = ["x", "y"].map(|page| visit(page, "Go there", format!("https://a/{page}")));
    let (number, visits, said, roots) = context.ask((
        raw_form("number", "Any number", &schema),
        Vec::from(visits),
        sample("said").user("Hello"),
        roots("roots"),
    ))?;
    let number = number.accepted()?;
    let visited = visits.into_iter().filter_map(Elicited::ok).count();
    Ok(format!(
        "{}, {visited}, {}, {}",
        number["n"],
        said.text(),
        roots[0].uri
    ))
}

#[tokio::test]
async fn all_that_has_no_answer_is_asked_at_once_in_order() {
    let toolbox = one(everything);
    let mut rounds = Rounds::default();

    let outcome = rounds.run(json!({}), call(&toolbox)).await;

    let asked = asked(&outcome);
    let methods: Vec<_> = asked
        .iter()
        .map(|(key, request)| (*key, request["method"].as_str().expect("a text")))
        .collect();
    assert_eq!(
        methods,
        [
            ("number", "elicitation/create"),
            ("x", "elicitation/create"),
            ("y", "elicitation/create"),
            ("said", "sampling/createMessage"),
            ("roots", "roots/list"),
        ]
    );
    assert_eq!(
        asked[1].1["params"],
        json!({"mode": "url", "message": "Go there", "url": "https://a/x"})
    );
    assert_eq!(asked[4].1, json!({"method": "roots/list"}));
}

#[tokio::test]
async fn answers_that_come_one_by_one_are_kept() {
    let toolbox = one(everything);
    let mut rounds = Rounds::default();
    let said =
        json!({"role": "assistant", "model": "m", "content": {"type": "text", "text": "hi"}});

    let outcome = rounds
        .run(
            json!({"y": {"action": "decline"}, "said": said}),
            call(&toolbox),
        )
        .await;
    assert_eq!(keys(&outcome), ["number", "x", "roots"]);

    let roots = json!({"roots": [{"uri": "file:///a"}, {"uri": "file:///b", "name": "b"}]});
    let outcome = rounds
        .run(
            json!({"x": {"action": "accept"}, "roots": roots}),
            call(&toolbox),
        )
        .await;
    assert_eq!(keys(&outcome), ["number"]);

    let outcome = rounds
        .run(
            json!({"number": accept(&json!({"n": 2.5}))}),
            call(&toolbox),
        )
        .await;
    assert_eq!(text_of(&outcome), "2.5, 1, hi, file:///a");
}

#[tokio::test]
async fn what_is_left_out_is_not_asked() {
    let toolbox = one(async |_, context| {
        let (some, none) = context.ask((Some(roots("a")), None::<crate::Sample>))?;
        Ok(format!("{} {}", some.is_some(), none.is_some()))
    });
    let mut rounds = Rounds::default();

    let outcome = rounds.run(json!({}), call(&toolbox)).await;
    assert_eq!(keys(&outcome), ["a"]);

    let outcome = rounds
        .run(json!({"a": {"roots": []}}), call(&toolbox))
        .await;
    assert_eq!(text_of(&outcome), "true false");
}

#[tokio::test]
async fn a_pair_and_a_triple_are_asked_at_once_too() {
    let toolbox = one(async |_, context| {
        context.ask((roots("a"), roots("b")))?;
        context.ask((roots("c"), roots("d"), roots("e")))?;
        context.ask(Vec::from(["a", "b"].map(roots)))?;
        Ok("all".to_owned())
    });
    let mut rounds = Rounds::default();
    let none = || json!({"roots": []});

    let outcome = rounds.run(json!({}), call(&toolbox)).await;
    assert_eq!(keys(&outcome), ["a", "b"]);
    let outcome = rounds
        .run(
            json!({"a": none(), "b": none(), "d": none()}),
            call(&toolbox),
        )
        .await;
    assert_eq!(keys(&outcome), ["c", "e"]);
    let outcome = rounds
        .run(json!({"c": none(), "e": none()}), call(&toolbox))
        .await;
    assert_eq!(text_of(&outcome), "all");
}

#[tokio::test]
async fn a_question_that_stands_twice_is_asked_once() {
    let toolbox = one(async |_, context| {
        context.ask((roots("a"), roots("a")))?;
        Ok(String::new())
    });

    let outcome = Rounds::default().run(json!({}), call(&toolbox)).await;

    assert_eq!(keys(&outcome), ["a"]);
}

/// What a callback gets that asks this.
async fn outcome_of<Q: Questions + 'static>(ask: fn() -> Q) -> Outcome {
    let toolbox = built(builder().tool(blocking_tool(
        "ask",
        "Asks",
        move |_: NoArguments, context: Context| {
            let asked = context.ask(ask()).map(|_| "answered");
            asked.map_err(ToolError::from)
        },
    )));
    Rounds::default().run(json!({}), call(&toolbox)).await
}

#[derive(Debug, Deserialize, JsonSchema)]
#[expect(dead_code, reason = "nobody can fill it in")]
struct Deep {
    names: Vec<String>,
}

#[tokio::test]
async fn a_question_that_cannot_be_asked_is_our_fault() {
    is_internal(&outcome_of(|| roots("")).await);
    is_internal(&outcome_of(|| roots("x".repeat(65))).await);
    is_internal(&outcome_of(|| (roots("a"), visit("a", "Go", "https://a"))).await);
    is_internal(&outcome_of(|| visit("a", "Go", "over there")).await);
    is_internal(&outcome_of(|| form::<Deep>("a", "Names?")).await);
    is_internal(&outcome_of(|| form::<String>("a", "A text?")).await);
    is_internal(&outcome_of(|| raw_form("a", "?", &json!({"type": "string"}))).await);
    let nonsense = || raw_form("a", "?", &json!({"type": "object", "required": 1}));
    is_internal(&outcome_of(nonsense).await);
    let reference = || raw_form("a", "?", &json!({"type": "object", "$ref": "https://a"}));
    is_internal(&outcome_of(reference).await);
}

#[tokio::test]
async fn nothing_to_ask_is_answered() {
    let outcome = outcome_of(Vec::<crate::Visit>::new).await;

    assert_eq!(text_of(&outcome), "answered");
}

#[tokio::test]
async fn one_key_for_two_questions_in_two_lines_is_our_fault() {
    let toolbox = one(async |_, context| {
        context.ask(roots("a"))?;
        context.ask(sample("a").user("Hello"))?;
        Ok(String::new())
    });

    let outcome = Rounds::default()
        .run(json!({"a": {"roots": []}}), call(&toolbox))
        .await;

    is_internal(&outcome);
}

#[tokio::test]
async fn what_was_costly_is_done_once() {
    let done = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&done);
    let toolbox = one(move |_, context: Context| {
        let counter = Arc::clone(&counter);
        async move {
            let price = if let Some(price) = context.recall::<u64>() {
                price
            } else {
                counter.fetch_add(1, Ordering::Relaxed);
                context.remember(99)?;
                99
            };
            context.ask(form::<Consent>("a", format!("{price} euros?")))?;
            context.ask(form::<Consent>("b", "Really?"))?;
            Ok(format!("{price} euros"))
        }
    });
    let mut rounds = Rounds::default();
    let yes = || accept(&json!({"yes": true}));

    let first = rounds.run(json!({}), call(&toolbox)).await;
    let Outcome::InputRequired(required) = &first else {
        panic!("a question");
    };
    assert_eq!(required.state, Some(json!(99)));
    rounds.run(json!({"a": yes()}), call(&toolbox)).await;
    let last = rounds.run(json!({"b": yes()}), call(&toolbox)).await;

    assert_eq!(text_of(&last), "99 euros");
    assert_eq!(done.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn what_is_remembered_in_another_shape_is_not_recalled() {
    let toolbox = one(async |_, context| {
        let nothing = context.recall::<Value>();
        context.remember(json!({"a": 1}))?;
        let number = context.recall::<u64>();
        let object = context.recall::<Value>();
        Ok(format!("{nothing:?} {number:?} {}", object.is_some()))
    });

    let outcome = Rounds::default().run(json!({}), call(&toolbox)).await;

    assert_eq!(text_of(&outcome), "None None true");
}

#[tokio::test]
async fn what_cannot_be_remembered_is_our_fault() {
    let toolbox = one(async |_, context| {
        context.remember(std::collections::HashMap::from([(vec!["no name"], 1)]))?;
        Ok(String::new())
    });

    is_internal(&Rounds::default().run(json!({}), call(&toolbox)).await);
}

#[tokio::test]
async fn a_callback_may_do_it_all_by_hand() {
    let ask = async |_: NoArguments, context: Context| {
        let Some(answer) = context.answer("a") else {
            let required = crate::InputRequired::new().with("a", InputRequest::Roots);
            return required.into();
        };
        crate::IntoOutcome::into_outcome(answer.get().to_owned())
    };
    let toolbox = built(builder().tool(tool("ask", "Asks", ask)));

    let first: Outcome = Rounds::default().run(json!({}), call(&toolbox)).await;
    let last = Rounds::default()
        .run(json!({"a": [1]}), call(&toolbox))
        .await;

    assert_eq!(keys(&first), ["a"]);
    assert_eq!(text_of(&last), "[1]");
}

#[tokio::test]
async fn a_tool_with_an_output_schema_may_ask() {
    let ask = async |_: NoArguments, context: Context| {
        let roots = context.ask(roots("a"))?;
        let uris: Vec<_> = roots.into_iter().map(|root| root.uri).collect();
        Ok::<_, ToolError>(crate::Json(uris))
    };
    let toolbox = built(builder().tool(tool("ask", "Asks", ask)));

    let outcome = Rounds::default().run(json!({}), call(&toolbox)).await;

    assert_eq!(keys(&outcome), ["a"]);
}

#[tokio::test]
async fn what_a_callback_asks_for_needs_no_tool_error() {
    let ask = async |_: NoArguments, context: Context| context.ask(roots("a")).map(|_| "answered");
    let toolbox = built(builder().tool(tool("ask", "Asks", ask)));

    let outcome = Rounds::default().run(json!({}), call(&toolbox)).await;

    assert_eq!(keys(&outcome), ["a"]);
}

#[tokio::test]
async fn a_resource_may_ask() {
    let read = async |context: Context| {
        let Name { name } = context.ask(form::<Name>("name", "Whose?"))?.accepted()?;
        Ok::<_, ToolError>(format!("of {name}"))
    };
    let toolbox = built(builder().resource(resource("mem://a", "a", read)));
    let prepare = |context| {
        let job = toolbox.catalog().read_resource("mem://a", context);
        job.expect("a job").work
    };
    let mut rounds = Rounds::default();

    let first = rounds.run(json!({}), prepare).await;
    let answers = json!({"name": accept(&json!({"name": "Ada"}))});
    let last = rounds.run(answers, prepare).await;

    assert_eq!(keys(&first), ["name"]);
    let Outcome::Complete(result) = last else {
        panic!("{last:?}");
    };
    let contents = serde_json::to_value(result.contents).expect("JSON");
    assert_eq!(contents[0]["text"], "of Ada");
}

#[tokio::test]
async fn a_prompt_may_ask() {
    let get = async |_: PromptArguments, context: Context| {
        let name = context.ask(form::<Name>("name", "Who?"))?;
        Ok::<_, ToolError>(match name {
            Elicited::Accepted(Name { name }) => format!("Greet {name}."),
            Elicited::Declined | Elicited::Cancelled => "Greet everybody.".to_owned(),
        })
    };
    let toolbox = built(builder().prompt(prompt("greet", "Greets", get)));
    let prepare = |context| {
        let catalog = toolbox.catalog();
        let job = catalog.get_prompt("greet", PromptArguments::default(), context);
        job.expect("a job").work
    };
    let mut rounds = Rounds::default();

    let first = rounds.run(json!({}), prepare).await;
    let last = rounds
        .run(json!({"name": {"action": "decline"}}), prepare)
        .await;

    assert_eq!(keys(&first), ["name"]);
    let Outcome::Complete(result) = last else {
        panic!("{last:?}");
    };
    let messages = serde_json::to_value(result.messages).expect("JSON");
    assert_eq!(messages[0]["content"]["text"], "Greet everybody.");
}

#[tokio::test]
async fn a_protocol_error_of_a_callback_that_asks_stays_one() {
    let toolbox = one(async |_, context| {
        context.ask(roots("a"))?;
        Err(ToolError::protocol(WireError::invalid_params("no")))
    });

    let outcome = Rounds::default()
        .run(json!({"a": {"roots": []}}), call(&toolbox))
        .await;

    assert!(matches!(outcome, Outcome::Refused(error) if error.code == Code::INVALID_PARAMS));
}
