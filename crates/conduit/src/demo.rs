//! The server that is built into the stock binary: something to try at once, and
//! an example to copy from.

mod add;
mod ask_name;
mod clock;
mod countdown;
mod echo;
mod meet;
mod slow_report;
mod time;
#[cfg(test)]
mod trial;
mod welcome;
mod zone;

use conduit_server::{InvalidServer, Toolbox};

/// Makes the demo server: the tools `echo`, `add`, `countdown`, `time`, `ask_name` and
/// `slow_report`, a text to read, the time in each time zone as a resource, and the
/// prompt `meet`.
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
             in any time zone, `ask_name` asks the user something, `slow_report` becomes a task. \
             The resource `demo://welcome` says what else there is.",
        )
        .tool(echo::tool())
        .tool(add::tool())
        .tool(countdown::tool())
        .tool(time::tool())
        .tool(ask_name::tool())
        .tool(slow_report::tool())
        .resource(welcome::resource())
        .template(clock::template())
        .prompt(meet::prompt())
        .build()
}

#[cfg(test)]
mod tests {
    use conduit_server::Server;

    use super::*;

    #[test]
    fn everything_is_introduced_to_people_and_models() {
        let server = server().expect("no mistake");
        let catalog = server.catalog();
        let entries = catalog.entries();

        let names: Vec<_> = entries
            .tools
            .iter()
            .map(|entry| entry.definition.name.as_str())
            .collect();
        assert_eq!(
            names,
            [
                "echo",
                "add",
                "countdown",
                "time",
                "ask_name",
                "slow_report"
            ]
        );
        for entry in &entries.tools {
            let definition = &entry.definition;
            assert!(definition.title.is_some(), "{definition:?}");
            assert!(definition.description.is_some(), "{definition:?}");
            assert!(definition.annotations.is_some(), "{definition:?}");
        }
        let welcome = &entries.resources[0].definition;
        let clock = &entries.templates[0].definition;
        let meet = &entries.prompts[0].definition;
        for introduced in [
            (&welcome.title, &welcome.description),
            (&clock.title, &clock.description),
            (&meet.title, &meet.description),
        ] {
            assert!(matches!(introduced, (Some(_), Some(_))), "{introduced:?}");
        }
        let arguments: Vec<_> = meet
            .arguments
            .iter()
            .map(|argument| (argument.name.as_str(), argument.required))
            .collect();
        assert_eq!(
            arguments,
            [("there", true), ("here", false), ("topic", false)]
        );
        assert!(server.offers().completions && server.offers().tasks);
    }
}
