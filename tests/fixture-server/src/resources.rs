//! Resources: fixed, of templates, slow, broken, and files.

use std::time::Duration;

use conduit::{
    Cancelled, Context, ResourceBuilder, TemplateBuilder, blocking_template, files, resource,
    template,
};

pub(crate) fn resources() -> [ResourceBuilder; 2] {
    [
        resource("file:///a.txt", "a", |_| async { "The text of a." })
            .description("A short text.")
            .inline(),
        resource("broken://now", "broken", broken).description("Panics when it is read."),
    ]
}

pub(crate) fn templates() -> [TemplateBuilder; 5] {
    [
        template("user://{id}", "user", user)
            .description("A user by number, from 1 to 9.")
            .suggest("id", (1..10).map(|id| id.to_string())),
        template("doc:///{name}", "doc", |name: String, _| async { name })
            .description("Shows what the variable stands for."),
        template("slow://{ms}", "slow", slow)
            .description("Takes its time, unless it is cancelled."),
        blocking_template("slow-blocking://{ms}", "slow-blocking", block)
            .description("Takes its time on a thread, cancelled or not."),
        files(
            "data:///{file}",
            "data",
            concat!(env!("CARGO_MANIFEST_DIR"), "/data"),
        )
        .description("The files of the fixture server."),
    ]
}

#[expect(clippy::panic, reason = "panics on purpose")]
async fn broken(_context: Context) -> String {
    panic!("cannot log in with user=root pw=hunter2");
}

async fn user(id: u8, _context: Context) -> Option<String> {
    (1..10).contains(&id).then(|| format!("user {id}"))
}

async fn slow(ms: u64, context: Context) -> Result<String, Cancelled> {
    context.sleep(Duration::from_millis(ms)).await?;
    Ok(format!("waited for {ms} ms"))
}

#[expect(
    clippy::disallowed_methods,
    reason = "blocks on purpose, and has the signature of a handler"
)]
fn block(ms: u64, _context: Context) -> String {
    std::thread::sleep(Duration::from_millis(ms));
    format!("blocked for {ms} ms")
}
