//! The places in the tree, and their names: `gateway-0`, `hub-1`, `store`.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// What a process is to the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Role {
    /// Owns the sockets, starts and watches the others.
    Supervisor,
    /// Serves MCP over HTTP.
    Gateway,
    /// A shard of the hub: mail between gateways.
    Hub,
    /// Keeps sessions and tasks.
    Store,
    /// A command of the operator's, while it lasts. Nobody starts it but a person.
    Operator,
}

/// A place in the tree that a process fills: `gateway-0`, `hub-1`, `store`.
///
/// It is also the name of the socket that the process listens at, and the
/// label `process` of its metrics.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Slot {
    /// What the process is.
    pub role: Role,
    /// Which of its kind, from zero. Always zero for supervisor and store.
    pub index: u16,
}

/// The text names no slot.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no slot: expected `supervisor`, `store`, `gateway-N`, `hub-N` or `operator-N`")]
pub struct NotASlot(String);

impl Role {
    /// Returns the lower-case word that slots, logs and arguments use.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Supervisor => "supervisor",
            Self::Gateway => "gateway",
            Self::Hub => "hub",
            Self::Store => "store",
            Self::Operator => "operator",
        }
    }
}

impl Slot {
    /// The slot of the supervisor.
    pub const SUPERVISOR: Self = Self {
        role: Role::Supervisor,
        index: 0,
    };

    /// The slot of the store.
    pub const STORE: Self = Self {
        role: Role::Store,
        index: 0,
    };

    /// Returns the slot of a gateway, counted from zero.
    #[must_use]
    pub const fn gateway(index: u16) -> Self {
        Self {
            role: Role::Gateway,
            index,
        }
    }

    /// Returns the slot of a command; two at a time need two indices.
    #[must_use]
    pub const fn operator(index: u16) -> Self {
        Self {
            role: Role::Operator,
            index,
        }
    }

    /// Returns the slot of a hub, counted from zero.
    #[must_use]
    pub const fn hub(index: u16) -> Self {
        Self {
            role: Role::Hub,
            index,
        }
    }
}

impl fmt::Display for Slot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.role {
            Role::Supervisor | Role::Store => f.write_str(self.role.as_str()),
            Role::Gateway | Role::Hub | Role::Operator => {
                write!(f, "{}-{}", self.role.as_str(), self.index)
            }
        }
    }
}

impl FromStr for Slot {
    type Err = NotASlot;

    fn from_str(text: &str) -> Result<Self, NotASlot> {
        let slot = match text.split_once('-') {
            None if text == Role::Supervisor.as_str() => Some(Self::SUPERVISOR),
            None if text == Role::Store.as_str() => Some(Self::STORE),
            None => None,
            Some((role, index)) => index.parse().ok().and_then(|index| match role {
                "gateway" => Some(Self::gateway(index)),
                "hub" => Some(Self::hub(index)),
                "operator" => Some(Self::operator(index)),
                _ => None,
            }),
        };
        slot.filter(|slot| slot.to_string() == text)
            .ok_or_else(|| NotASlot(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_slot_is_read_back_from_its_name() {
        for slot in [
            Slot::SUPERVISOR,
            Slot::STORE,
            Slot::gateway(0),
            Slot::hub(u16::MAX),
        ] {
            assert_eq!(slot.to_string().parse(), Ok(slot));
        }
    }

    #[test]
    fn a_name_that_no_slot_has_is_refused() {
        for text in [
            "",
            "gateway",
            "gateway-",
            "gateway-00",
            "hub-+1",
            "store-0",
            "hub-65536",
        ] {
            assert_eq!(text.parse::<Slot>(), Err(NotASlot(text.to_owned())));
        }
    }
}
