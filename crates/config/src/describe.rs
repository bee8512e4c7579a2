//! The settings as text: the file of all defaults, and what is in force.

#[cfg(test)]
mod tests;

use crate::settings::{KEYS, TABLES};
use crate::{Loaded, Settings};

/// Returns the text of `config/conduit.toml`: every setting at its default, with its
/// documentation.
#[must_use]
pub fn defaults_file() -> String {
    let defaults = Settings::default();
    let mut text = HEAD.to_owned();
    for table in TABLES {
        text.push('\n');
        push_docs(&mut text, table.docs);
        push_line(&mut text, &format!("[{}]", table.name));
        for key in KEYS.iter().filter(|key| key.table == table.name) {
            text.push('\n');
            push_docs(&mut text, key.docs);
            push_line(
                &mut text,
                &format!("{} = {}", key.name, (key.write)(&defaults)),
            );
        }
    }
    text
}

/// Returns the settings in force as a file, each with its origin in a comment.
///
/// Loading this text gives the same settings again.
#[must_use]
pub fn describe(loaded: &Loaded) -> String {
    let mut text = String::new();
    for table in TABLES {
        if !text.is_empty() {
            text.push('\n');
        }
        push_line(&mut text, &format!("[{}]", table.name));
        for key in KEYS.iter().filter(|key| key.table == table.name) {
            let value = (key.write)(&loaded.settings);
            let origin = loaded.origins.of(key.path).to_string();
            let origin = origin.replace(char::is_control, " ");
            push_line(&mut text, &format!("{} = {value}  # {origin}", key.name));
        }
    }
    text
}

// === Behind the handle ===

const HEAD: &str = "\
# Every setting of Conduit at its default, and what it does.
#
# Conduit reads the file that `--config FILE` or the environment variable
# CONDUIT_CONFIG names. Each setting is also an environment variable,
# CONDUIT_<TABLE>_<KEY> (lists separated by commas), and `--set table.key=value` on
# the command line. The command line wins over the environment, that over the file.
# `conduit config` prints what is in force, and from where.
";

fn push_docs(text: &mut String, docs: &[&str]) {
    for line in docs {
        push_line(text, &format!("#{line}"));
    }
}

fn push_line(text: &mut String, line: &str) {
    text.push_str(line);
    text.push('\n');
}
