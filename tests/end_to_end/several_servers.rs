//! Several servers in one process share neither tasks nor what clients carry (R37).

use conduit::schemars::JsonSchema;
use conduit::serde::Deserialize;
use conduit::warp;
use conduit::{
    Context, Front, Handler, NoArguments, Servers, TaskSupport, ToolBuilder, ToolError, Toolbox,
    ToolboxBuilder, form, tool,
};
use conduit_testkit::{Call, Conn, Era, PATIENCE, Reply, wait_until};
use serde_json::{Value, json};
use tokio::net::TcpListener;

#[derive(Deserialize, JsonSchema)]
#[serde(crate = "conduit::serde")]
#[schemars(crate = "conduit::schemars")]
struct Name {
    name: String,
}

#[tokio::test]
async fn a_state_is_of_one_server_alone() {
    with_two(async |conn| {
        let call = Era::Modern
            .tool("greet", json!({}))
            .capabilities(declares());
        let asked = conn.send(&call.clone().path("/one/mcp")).await;
        let state = asked.result()["requestState"].clone();
        let ann = json!({ "name": { "action": "accept", "content": { "name": "Ann" } } });
        let retry = call
            .param("requestState", state)
            .param("inputResponses", ann);

        let theirs = conn.send(&retry.clone().path("/two/mcp")).await;
        let ours = conn.send(&retry.path("/one/mcp")).await;

        assert_eq!(theirs.code(), -32602, "{theirs}");
        assert_eq!(ours.text(), "Hello, Ann!");
    })
    .await;
}

#[tokio::test]
async fn a_task_is_of_one_server_alone() {
    with_two(async |conn| {
        let call = Era::Modern
            .tool("later", json!({}))
            .capabilities(declares());
        let made = conn.send(&call.path("/one/mcp")).await;
        let id = made.result()["taskId"].as_str().expect("a task").to_owned();

        for method in ["tasks/get", "tasks/cancel"] {
            let reply = conn.send(&about(method, &id).path("/two/mcp")).await;
            assert_eq!(reply.code(), -32602, "{reply}");
        }
        let listen = json!({ "notifications": { "taskIds": [id] } });
        let listen = Call::modern("subscriptions/listen", listen).capabilities(declares());
        let reply: Reply = conn.send(&listen.path("/two/mcp")).await;
        let honoured = &reply.notifications()[0]["params"]["notifications"];
        assert!(!honoured.to_string().contains(&id), "{honoured}");

        wait_until("the end of the task", PATIENCE, async || {
            let shown = conn.send(&about("tasks/get", &id).path("/one/mcp")).await;
            (shown.result()["status"] == "completed").then_some(())
        })
        .await;
    })
    .await;
}

/// Serves two servers that are alike, and speaks with them.
async fn with_two(speak: impl AsyncFnOnce(&mut Conn)) {
    let servers = Servers::new().with(server("one")).with(server("two"));
    let handler = Handler::start(servers).await.expect("a handler");
    let front = Front {
        loopback: true,
        hosts: Vec::new(),
        origins: Vec::new(),
    };
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a socket");
    let mut conn = {
        let address = listener.local_addr().expect("an address");
        Conn::open(address).await
    };
    let served = handler.filter(front);
    tokio::select! {
        () = warp::serve(served).incoming(listener).run() => panic!("it serves for ever"),
        () = speak(&mut conn) => {}
    }
}

fn server(name: &str) -> ToolboxBuilder {
    Toolbox::builder(name, "1").tool(greet()).tool(later())
}

fn greet() -> ToolBuilder {
    tool(
        "greet",
        "Asks first",
        async |_: NoArguments, context: Context| {
            context.remember("asked")?;
            let answer = context.ask(form::<Name>("name", "What is your name?"))?;
            Ok::<_, ToolError>(format!("Hello, {}!", answer.accepted()?.name))
        },
    )
}

fn later() -> ToolBuilder {
    let later = async |_: NoArguments, _: Context| "done";
    tool("later", "Is a task", later).task(TaskSupport::Required)
}

fn declares() -> Value {
    json!({ "elicitation": {}, "extensions": { "io.modelcontextprotocol/tasks": {} } })
}

fn about(method: &str, id: &str) -> Call {
    Call::modern(method, json!({ "taskId": id })).capabilities(declares())
}
