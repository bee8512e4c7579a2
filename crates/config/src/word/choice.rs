//! Settings with a closed list of words.

use serde::{Deserialize, Serialize};
use toml_edit::Value;

use super::{Bounds, Word, Written, Wrong};

/// Declares an enum whose variants are words of the file.
macro_rules! choice {
    (
        $(#[$meta:meta])+
        $Name:ident { $($(#[$variant_meta:meta])+ $variant:ident = $word:literal,)+ }
    ) => {
        $(#[$meta])+
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
        pub enum $Name {
            $(
                $(#[$variant_meta])+
                #[serde(rename = $word)]
                $variant,
            )+
        }

        impl $Name {
            /// Returns the word that the file uses.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)+
                }
            }
        }

        impl Word for $Name {
            fn read(written: Written<'_>, _bounds: Bounds) -> Result<Self, Wrong> {
                let expected = one_of(&[$($word),+]);
                match written.text(&expected)? {
                    $($word => Ok(Self::$variant),)+
                    _ => Err(written.wrong(&expected)),
                }
            }

            fn write(&self) -> Value {
                self.as_str().into()
            }
        }
    };
}

choice! {
    /// What a client without session and principal may cancel.
    AddressScope {
        /// A call from its own address, if only one there bears the id.
        Strict = "strict",
        /// Every call from its own address that bears the id.
        Seeds = "seeds",
        /// Nothing.
        Off = "off",
    }
}

choice! {
    /// How log lines are written.
    LogFormat {
        /// For people.
        Text = "text",
        /// For machines: one object a line.
        Json = "json",
    }
}

choice! {
    /// The least important log lines that are written.
    LogLevel {
        /// Only what somebody has to look at.
        Error = "error",
        /// Also what may become an error.
        Warn = "warn",
        /// Also the steps of each process.
        Info = "info",
        /// Also each request.
        Debug = "debug",
        /// Everything.
        Trace = "trace",
    }
}

// === Behind the handle ===

/// Writes `"a", "b" or "c"`.
fn one_of(words: &[&str]) -> String {
    let quoted: Vec<_> = words.iter().map(|word| format!("\"{word}\"")).collect();
    match quoted.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, others)) => format!("{} or {last}", others.join(", ")),
        None => String::new(),
    }
}
