//! Prompts: filled in, completed, broken.

use conduit::schemars::JsonSchema;
use conduit::serde::Deserialize;
use conduit::{CompletionRequest, Context, NoArguments, PromptBuilder, prompt};

#[derive(Deserialize, JsonSchema)]
#[serde(crate = "conduit::serde")]
#[schemars(crate = "conduit::schemars")]
struct Greet {
    /// Who is to be greeted.
    name: String,
    /// How often.
    times: Option<u8>,
}

pub(crate) fn prompts() -> [PromptBuilder; 2] {
    [
        prompt("greet", "Greets somebody.", greet)
            .suggest("name", ["Ada", "Alan", "Grace"])
            .complete("times", many),
        prompt("broken", "Panics, with a secret in its text.", broken),
    ]
}

async fn greet(arguments: Greet, _context: Context) -> String {
    let Greet { name, times } = arguments;
    format!("Greet {name}, {} times.", times.unwrap_or(1))
}

/// So many values that they have to be cut.
async fn many(_request: CompletionRequest, _context: Context) -> Vec<String> {
    (1..=250).map(|number| number.to_string()).collect()
}

#[expect(clippy::panic, reason = "panics on purpose")]
async fn broken(_: NoArguments, _context: Context) -> String {
    panic!("cannot log in with user=root pw=hunter2");
}
