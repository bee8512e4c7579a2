//! What a server offers beyond its lists. Pure.

use conduit_protocol::{Lists, ServerCapabilities};

/// What a server offers beyond tools, resources and prompts that can be listed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is an offer of its own, and none excludes another"
)]
pub struct Offers {
    /// It suggests values for arguments.
    pub completions: bool,
    /// Its callbacks write to their clients' logs.
    pub logging: bool,
    /// It tells who subscribed to a resource when that changes.
    pub subscribe: bool,
    /// Calls of its tools can be tasks (R39).
    pub tasks: bool,
    /// Whether its lists may change while it is served.
    pub lists: Lists,
}

impl Offers {
    /// Returns the capabilities of a server that declares these, or none (R9).
    ///
    /// Whoever declares none has tools, resources and prompts, empty or not. A list
    /// that is not declared is not offered either, and so does not change.
    #[must_use]
    pub fn overlay(self, declared: Option<&ServerCapabilities>) -> ServerCapabilities {
        let mut all = declared.map_or_else(ServerCapabilities::base, Clone::clone);
        for list in [&mut all.tools, &mut all.prompts].into_iter().flatten() {
            list.list_changed |= self.lists.list_changed;
        }
        if let Some(resources) = &mut all.resources {
            resources.list_changed |= self.lists.list_changed;
            resources.subscribe |= self.subscribe;
        }
        all.completions |= self.completions;
        all.logging |= self.logging;
        all.tasks |= self.tasks && all.tools.is_some();
        all
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const ALL: Offers = Offers {
        completions: true,
        logging: true,
        subscribe: true,
        tasks: true,
        lists: Lists { list_changed: true },
    };

    #[track_caller]
    fn check(offers: Offers, declared: Option<&ServerCapabilities>, expected: &serde_json::Value) {
        let offered = serde_json::to_value(offers.overlay(declared)).expect("JSON");
        assert_eq!(offered, *expected);
    }

    #[test]
    fn who_declares_nothing_offers_the_base_set() {
        check(
            Offers::default(),
            None,
            &json!({"tools": {}, "resources": {}, "prompts": {}}),
        );
    }

    #[test]
    fn what_is_offered_is_laid_over_the_base_set() {
        check(
            ALL,
            None,
            &json!({
                "tools": {"listChanged": true},
                "resources": {"subscribe": true, "listChanged": true},
                "prompts": {"listChanged": true},
                "completions": {},
                "logging": {},
                "tasks": {"list": {}, "cancel": {}, "requests": {"tools": {"call": {}}}},
            }),
        );
    }

    #[test]
    fn what_is_not_declared_is_not_offered() {
        let declared = ServerCapabilities {
            tools: Some(Lists::default()),
            ..ServerCapabilities::default()
        };

        check(
            ALL,
            Some(&declared),
            &json!({
                "tools": {"listChanged": true},
                "completions": {},
                "logging": {},
                "tasks": {"list": {}, "cancel": {}, "requests": {"tools": {"call": {}}}},
            }),
        );
    }

    #[test]
    fn without_tools_there_are_no_tasks() {
        let declared = ServerCapabilities::default();

        let offered = ALL.overlay(Some(&declared));

        assert!(!offered.tasks);
    }
}
