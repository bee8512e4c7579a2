//! What an operator may set: the words, their defaults, and where each came from.
//!
//! [`load`](fn@load) reads, in this order, the defaults, one file, the environment and the
//! options of the command line; a later source wins. Everything that is wrong is
//! one [`Error`] that names the place, the setting and the nearest name that
//! exists, and never a value.
//!
//! [`Settings`] is the file as types. Its list in `settings.rs` is the only one:
//! `config/conduit.toml`, the names of the environment variables and the output of
//! `conduit config` are all made from it.
//!
//! Not here: what a component does with a setting. Each has `Options` of its own,
//! and `conduit` turns one into the other. There is no type for secrets, because
//! no setting is one yet.

mod check;
mod describe;
mod environment;
mod file;
mod key;
mod load;
mod millis;
mod nearest;
mod origin;
mod settings;
mod state_dir;
mod word;

pub use self::describe::{defaults_file, describe};
pub use self::load::{Error, Flag, Loaded, Sources, load};
pub use self::millis::Millis;
pub use self::origin::{Origin, Origins, Place};
pub use self::settings::{
    Admin, Cancellation, Gateway, Http, Hub, Input, Legacy, Limits, Log, Sessions, Settings, State,
    Store, Supervisor, Tasks, Workers,
};
pub use self::word::{AddressScope, HostName, LogFormat, LogLevel, Network, NotNetwork, WebOrigin};
