//! `logging/setLevel`: from which level on a session hears. Legacy only.

use crate::demand;
use crate::log_level::LogLevel;
use crate::params::Params;
use crate::wire_error::WireError;

/// The parameters of `logging/setLevel`: `{"level":"warning"}`.
///
/// Source: L-METH-03.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SetLevelParams {
    /// The lowest level that the session wants to hear.
    pub level: LogLevel,
}

impl SetLevelParams {
    /// Reads the parameters of `logging/setLevel`.
    ///
    /// # Errors
    ///
    /// -32602 when the level is missing, occurs twice, or is no level.
    pub fn read(params: &Params<'_>) -> Result<Self, WireError> {
        let [level] = params.find(&["level"])?;
        let name = demand::string(level, "params.level")?;
        match LogLevel::parse(&name) {
            Some(level) => Ok(Self { level }),
            None => Err(demand::mistyped("params.level", "a logging level")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire_error::Code;

    fn read(text: &str) -> Result<SetLevelParams, WireError> {
        let params = Params::read(Some(serde_json::from_str(text).expect("valid JSON")));
        SetLevelParams::read(&params)
    }

    #[test]
    fn every_level_can_be_set() {
        for level in LogLevel::ALL {
            let set = read(&format!(r#"{{"level":"{level}"}}"#)).expect("a level");
            assert_eq!(set.level, level);
        }
    }

    #[test]
    fn what_is_no_level_is_refused() {
        for text in [
            "{}",
            "[]",
            r#"{"level":"verbose"}"#,
            r#"{"level":"INFO"}"#,
            r#"{"level":3}"#,
            r#"{"level":"info","level":"info"}"#,
        ] {
            let error = read(text).expect_err("a refusal");
            assert_eq!(error.code, Code::INVALID_PARAMS, "{text}");
        }
        assert!(SetLevelParams::read(&Params::read(None)).is_err());
    }
}
