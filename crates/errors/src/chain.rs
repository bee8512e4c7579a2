//! One error and its causes on one line.

use std::error::Error;
use std::fmt;

/// Writes an error and all its causes on one line, separated by colons.
///
/// Control characters, line breaks among them, become spaces: a cause that
/// quotes foreign text cannot forge a second line of a log.
pub fn chain(error: &dyn Error) -> impl fmt::Display + '_ {
    fmt::from_fn(move |f| {
        write_line(f, error)?;
        let mut cause = error.source();
        while let Some(error) = cause {
            f.write_str(": ")?;
            write_line(f, error)?;
            cause = error.source();
        }
        Ok(())
    })
}

// === Behind the handle ===

fn write_line(f: &mut fmt::Formatter<'_>, error: &dyn Error) -> fmt::Result {
    let text = error.to_string();
    for (index, part) in text.split(char::is_control).enumerate() {
        if index > 0 {
            f.write_str(" ")?;
        }
        f.write_str(part)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    #[derive(Debug)]
    struct Outer(io::Error);

    impl fmt::Display for Outer {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("cannot open `a`")
        }
    }

    impl Error for Outer {
        fn source(&self) -> Option<&(dyn Error + 'static)> {
            Some(&self.0)
        }
    }

    #[test]
    fn causes_follow_on_the_same_line() {
        let error = Outer(io::Error::other("no such file"));

        assert_eq!(chain(&error).to_string(), "cannot open `a`: no such file");
    }

    #[test]
    fn a_line_break_in_a_cause_starts_no_second_line() {
        let error = Outer(io::Error::other("one\ntwo"));

        assert_eq!(chain(&error).to_string(), "cannot open `a`: one two");
    }
}
