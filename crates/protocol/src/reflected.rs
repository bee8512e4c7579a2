//! Client text that goes into a message or a log line.

/// Returns `text` without characters that hide or reorder others, cut to
/// `max_chars`.
///
/// Control characters (line breaks and tabs too), bidirectional controls, zero
/// width characters and line separators are removed. The result has at most
/// four times `max_chars` bytes.
///
/// Source: inventory SEC-01.
#[must_use]
pub fn reflected(text: &str, max_chars: usize) -> String {
    text.chars()
        .filter(|&character| !is_hidden(character))
        .take(max_chars)
        .collect()
}

// === Behind the handle ===

fn is_hidden(character: char) -> bool {
    character.is_control()
        || matches!(
            character,
            '\u{00AD}'
                | '\u{034F}'
                | '\u{061C}'
                | '\u{180E}'
                | '\u{200B}'..='\u{200F}'
                | '\u{2028}'..='\u{202E}'
                | '\u{2060}'..='\u{206F}'
                | '\u{FEFF}'
                | '\u{FFF9}'..='\u{FFFB}'
                | '\u{E0000}'..='\u{E007F}'
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_text_of_any_script_stays_as_it_is() {
        assert_eq!(reflected("Zażółć 日本 🦀", 200), "Zażółć 日本 🦀");
    }

    #[test]
    fn control_characters_and_line_separators_are_removed() {
        assert_eq!(reflected("a\n\t\u{1b}[31m\u{0}\u{2028}b", 200), "a[31mb");
    }

    #[test]
    fn bidirectional_and_zero_width_characters_are_removed() {
        assert_eq!(
            reflected("\u{202E}abc\u{200B}\u{2066}\u{FEFF}d", 200),
            "abcd"
        );
    }

    #[test]
    fn the_bound_counts_characters_that_are_kept() {
        assert_eq!(reflected("\u{0}\u{0}ééééé", 3), "ééé");
    }
}
