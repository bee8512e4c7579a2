//! `demo://time/{zone}`: the time in each time zone, as a resource.

use conduit_server::TemplateBuilder;
use jiff::Timestamp;

use super::zone;

pub(super) fn template() -> TemplateBuilder {
    conduit_server::template("demo://time/{zone}", "time", |name: String, _| async move {
        let zone = zone::find(&name)?;
        Some(zone::tell(Timestamp::now(), zone))
    })
    .title("Time")
    .description(
        "The date and the time in a time zone of the IANA database; its slash is escaped, as in \
         `demo://time/Europe%2FBerlin`.",
    )
    .complete("zone", zone::complete)
}
