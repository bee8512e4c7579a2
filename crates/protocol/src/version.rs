//! The protocol versions that are served, in each era.

/// The modern versions, newest first: what a request's `_meta` may name, what
/// `supportedVersions` and `data.supported` say (R22).
pub const MODERN_VERSIONS: [&str; 1] = ["2026-07-28"];

/// The legacy versions, newest first: what `initialize` may agree on.
pub const LEGACY_VERSIONS: [&str; 2] = ["2025-11-25", "2025-06-18"];

/// Returns the newest legacy version, our counter-offer.
#[must_use]
pub const fn newest_legacy() -> &'static str {
    let [newest, _] = LEGACY_VERSIONS;
    newest
}

/// Returns the version that answers an `initialize` which asks for `requested`:
/// the same if it is served as legacy, else our newest legacy one. Never an
/// error; the client leaves if it cannot follow.
///
/// Source: L-INIT-02, R11.
#[must_use]
pub fn negotiate(requested: &str) -> &'static str {
    legacy(requested).unwrap_or_else(newest_legacy)
}

pub(crate) fn modern(version: &str) -> Option<&'static str> {
    MODERN_VERSIONS.into_iter().find(|known| *known == version)
}

pub(crate) fn legacy(version: &str) -> Option<&'static str> {
    LEGACY_VERSIONS.into_iter().find(|known| *known == version)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_served_legacy_version_is_agreed_on() {
        assert_eq!(negotiate("2025-06-18"), "2025-06-18");
        assert_eq!(negotiate("2025-11-25"), "2025-11-25");
    }

    #[test]
    fn any_other_version_is_answered_with_our_newest_legacy_one() {
        for requested in ["2026-07-28", "2025-03-26", "2031-01-01", ""] {
            assert_eq!(negotiate(requested), "2025-11-25", "{requested}");
        }
    }
}
