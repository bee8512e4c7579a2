//! Tables and numbers in Markdown.

/// Lays out a table; the first column is text, the others are numbers.
pub(crate) fn table(headings: &[&str], rows: &[Vec<String>]) -> String {
    let width = |column: usize| {
        let heading = headings
            .get(column)
            .map_or(0, |heading| heading.chars().count());
        let cells = rows.iter().filter_map(|row| row.get(column));
        cells
            .map(|cell| cell.chars().count())
            .fold(heading, usize::max)
    };
    let widths: Vec<usize> = (0..headings.len()).map(width).collect();
    let line = |cells: &mut dyn Iterator<Item = &str>| {
        let mut line = "|".to_owned();
        for (column, (cell, width)) in cells.zip(&widths).enumerate() {
            line.push_str(&match column {
                0 => format!(" {cell:<width$} |"),
                _ => format!(" {cell:>width$} |"),
            });
        }
        line.push('\n');
        line
    };
    let mut text = line(&mut headings.iter().copied());
    text.push('|');
    for (column, width) in widths.iter().enumerate() {
        text.push_str(&"-".repeat(width + usize::from(column == 0)));
        text.push_str(if column == 0 { "-|" } else { "-:|" });
    }
    text.push('\n');
    for row in rows {
        text.push_str(&line(&mut row.iter().map(String::as_str)));
    }
    text
}

/// Writes a number with three digits that count, and commas in a large one.
pub(crate) fn number(value: f64) -> String {
    if !value.is_finite() {
        return "-".to_owned();
    }
    match value.abs() {
        small if small < 9.995 => format!("{value:.2}"),
        middle if middle < 99.95 => format!("{value:.1}"),
        _ => grouped(&format!("{value:.0}")),
    }
}

/// Writes a ratio.
pub(crate) fn ratio(value: f64) -> String {
    if value.is_finite() {
        format!("{value:.3}")
    } else {
        "-".to_owned()
    }
}

// === Behind the table ===

fn grouped(digits: &str) -> String {
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        let left = digits.len() - index;
        if index > 0 && left.is_multiple_of(3) && !text.ends_with('-') {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_three_digits_that_count() {
        for (value, expected) in [
            (0.0, "0.00"),
            (9.994, "9.99"),
            (9.996, "10.0"),
            (99.96, "100"),
            (1234.4, "1,234"),
            (1_234_567.0, "1,234,567"),
            (-1234.0, "-1,234"),
            (-123_456.0, "-123,456"),
            (f64::NAN, "-"),
        ] {
            assert_eq!(number(value), expected);
        }
    }

    #[test]
    fn a_table_is_as_wide_as_its_widest_cells() {
        let rows = [vec!["a".to_owned(), "1,000".to_owned()]];

        assert_eq!(
            table(&["target", "x"], &rows),
            "| target |     x |\n|--------|------:|\n| a      | 1,000 |\n"
        );
    }
}
