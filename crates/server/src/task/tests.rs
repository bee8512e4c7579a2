use std::sync::mpsc::channel;

use conduit_protocol::{Code, Outcome};
use serde_json::json;

use super::*;
use crate::Emission;
use crate::trial::{Rounds, builder, built, context, keys, run, text_of};
use crate::{
    Arguments, ContextParts, NoArguments, Server, TaskSupport, Toolbox, Work, resource, roots, tool,
};

fn part() -> TaskPart {
    TaskPart {
        id: "secret-id".into(),
        attempt: 2,
    }
}

fn as_task() -> Context {
    Context::new(ContextParts {
        task: Some(part()),
        ..ContextParts::default()
    })
}

/// Asks before it is a task, and after.
async fn build(_: NoArguments, context: Context) -> Result<String, ToolError> {
    context.ask(roots("before"))?;
    context.remember("remembered")?;
    let task = context.become_task(NewTask::new().with_message("queued"))?;
    let roots = task.ask(roots("after"))?;
    let recalled: Option<String> = context.recall();
    Ok(format!("{} roots, {recalled:?}", roots.len()))
}

fn toolbox() -> Toolbox {
    let build = tool("build", "Builds", build).task(TaskSupport::Required);
    built(builder().tool(build.asks_first()))
}

fn call(toolbox: &Toolbox) -> impl FnOnce(Context) -> Work + use<> {
    let tool = Arc::clone(&toolbox.catalog().entries().tools[0]);
    move |context| tool.call(Arguments::none(), context)
}

#[tokio::test]
async fn a_call_asks_becomes_a_task_and_asks_again() {
    let toolbox = toolbox();
    let mut rounds = Rounds::default();
    let answer = |key: &str| json!({key: {"roots": []}});

    let first = rounds.run(json!({}), call(&toolbox)).await;
    assert_eq!(keys(&first), ["before"]);

    let second = rounds.run(answer("before"), call(&toolbox)).await;
    let Outcome::Task(task) = second else {
        panic!("{second:?}");
    };
    assert_eq!(task, NewTask::new().with_message("queued"));

    rounds.task = Some(part());
    let third = rounds.run(json!({}), call(&toolbox)).await;
    assert_eq!(keys(&third), ["after"]);

    let last = rounds.run(answer("after"), call(&toolbox)).await;
    assert_eq!(text_of(&last), r#"0 roots, Some("remembered")"#);
}

#[test]
fn a_task_knows_its_name_and_how_often_it_was_started() {
    let task = as_task().task().expect("a task");

    assert_eq!(task.id(), "secret-id");
    assert_eq!(task.attempt(), 2);
    assert!(!task.is_cancelled());
    assert!(context().task().is_none());
}

#[test]
fn a_task_allows_itself_to_be_one() {
    let may = |allows_task| {
        Context::new(ContextParts {
            allows_task,
            ..ContextParts::default()
        })
        .allows_task()
    };

    assert!(may(true));
    assert!(!may(false));
    assert!(as_task().allows_task());
}

#[test]
fn a_status_is_passed_on() {
    let (sender, said) = channel::<Emission>();
    let context = Context::new(ContextParts {
        task: Some(part()),
        emit: Some(Arc::new(sender)),
        ..ContextParts::default()
    });

    context.task().expect("a task").status("half way");

    drop(context);
    let message = "half way".to_owned();
    assert_eq!(
        said.iter().collect::<Vec<_>>(),
        [Emission::Status { message }]
    );
}

#[test]
fn a_task_ends_with_what_is_returned() {
    let task = || as_task().task().expect("a task");

    assert_eq!(text_of(&task().complete("done")), "done");
    let failed = task().fail(WireError::internal());
    assert!(matches!(failed, Outcome::Refused(error) if error.code == Code::INTERNAL_ERROR));
}

#[tokio::test]
async fn what_would_be_a_task_needs_no_tool_error() {
    let become_one = async |_: NoArguments, context: Context| {
        context.become_task(NewTask::new()).map(|_| "done")
    };
    let toolbox = built(builder().tool(tool("one", "Becomes one", become_one)));

    let outcome = run(call(&toolbox)(context())).await;

    assert!(matches!(outcome, Outcome::Task(_)), "{outcome:?}");
}

/// The runtime refuses it then.
#[tokio::test]
async fn a_resource_that_would_be_a_task_says_so() {
    let read = async |context: Context| {
        context.become_task(NewTask::new())?;
        Ok::<_, ToolError>("contents")
    };
    let toolbox = built(builder().resource(resource("mem://a", "a", read)));
    let job = toolbox.catalog().read_resource("mem://a", context());

    let outcome = run(job.expect("a job").work).await;

    assert!(matches!(outcome, Outcome::Task(_)), "{outcome:?}");
}

#[test]
fn a_task_does_not_print_its_name() {
    let task = as_task().task().expect("a task");

    let printed = format!("{task:?} {:?} {:?}", part(), as_task());

    assert!(!printed.contains("secret"), "{printed}");
}
