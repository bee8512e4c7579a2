//! MCP over a pair of pipes: one client on standard input and output.
//!
//! One message a line, in UTF-8. Requests run side by side; answers are written
//! whole, one at a time, by one writer. Nothing but MCP is written.
//!
//! # The end
//!
//! When the input ends, or whoever runs this asks for it, what has been read is
//! still answered within a bound, and then it is over. A reader that has closed the
//! output ends it at once.
//!
//! # Bounds
//!
//! | what | bound |
//! | --- | --- |
//! | a line | [`Options::max_line`]; a longer one is refused and skipped |
//! | requests at once | the gateway's admission; one more is refused |
//! | answers that wait for the writer | [`ANSWERS`]; whoever has one more waits |
//!
//! Not here: standard streams themselves (any reader and writer will do), eras,
//! sessions.

mod line;
mod serve;
mod writer;

pub use self::serve::{Options, serve};
pub use self::writer::ANSWERS;
