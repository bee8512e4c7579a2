//! The server that is built into the stock binary: something to try at once, and
//! an example to copy from.

mod add;
mod countdown;
mod echo;
mod time;

use conduit_server::{InvalidServer, Toolbox};

/// Makes the demo server: `echo`, `add`, `countdown` and `time`.
///
/// # Errors
///
/// Never, as long as its own definition has no mistake; a test sees to that.
pub fn server() -> Result<Toolbox, InvalidServer> {
    Toolbox::builder("demo", env!("CARGO_PKG_VERSION"))
        .title("Conduit demo")
        .description("A few small tools to see that a client and Conduit understand each other")
        .instructions(
            "Small tools to try a connection with: `echo` repeats a message, `add` adds two \
             numbers, `countdown` reports progress and can be cancelled, `time` tells the time \
             in any time zone.",
        )
        .tool(echo::tool())
        .tool(add::tool())
        .tool(countdown::tool())
        .tool(time::tool())
        .build()
}

#[cfg(test)]
mod tests {
    use conduit_server::Server;

    use super::*;

    #[test]
    fn every_tool_is_introduced_to_people_and_models() {
        let server = server().expect("no mistake");

        let names: Vec<_> = server
            .tools()
            .iter()
            .map(|entry| entry.definition.name.as_str())
            .collect();
        assert_eq!(names, ["echo", "add", "countdown", "time"]);
        for entry in server.tools() {
            let definition = &entry.definition;
            assert!(definition.title.is_some(), "{definition:?}");
            assert!(definition.description.is_some(), "{definition:?}");
            assert!(definition.annotations.is_some(), "{definition:?}");
        }
    }
}
