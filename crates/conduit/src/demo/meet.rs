//! `meet`: a prompt that lets a model find an hour for people who live far apart.

use conduit_server::{Context, PromptBuilder, WireError};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use schemars::JsonSchema;
use serde::Deserialize;

use super::zone;

#[derive(Deserialize, JsonSchema)]
struct Meet {
    /// The time zone of the others, such as `Asia/Tokyo`.
    there: String,
    /// Your own time zone; `UTC` if it is left out.
    here: Option<String>,
    /// What it is about.
    topic: Option<String>,
}

pub(super) fn prompt() -> PromptBuilder {
    conduit_server::prompt(
        "meet",
        "Finds an hour to meet with people in another time zone.",
        meet,
    )
    .title("Find an hour to meet")
    .complete("there", zone::complete)
    .complete("here", zone::complete)
}

async fn meet(plan: Meet, _context: Context) -> Result<String, WireError> {
    let there = look_up(&plan.there)?;
    let here = match &plan.here {
        Some(name) => look_up(name)?,
        None => TimeZone::UTC,
    };
    let about = plan
        .topic
        .map_or_else(String::new, |topic| format!(" about {topic}"));
    let now = Timestamp::now();
    Ok(format!(
        "I would like to meet{about} with people in another time zone. For me it is now {}, for \
         them {}. Suggest three hours in the next days at which nobody has to get up early or \
         stay up late, each in both time zones.",
        zone::tell(now, here),
        zone::tell(now, there),
    ))
}

fn look_up(name: &str) -> Result<TimeZone, WireError> {
    zone::find(name).ok_or_else(|| WireError::invalid_params(zone::unknown(name)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_zone_is_refused_with_a_suggestion() {
        let error = look_up("Europe/Berlim").expect_err("a refusal");

        assert!(
            error.message.contains("did you mean `Europe/Berlin`?"),
            "{error}"
        );
    }
}
