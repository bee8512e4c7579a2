//! Links lead somewhere, and what is left to do is written down where it is seen.

use crate::repository::{assert_none, files, read, root};

/// Kinds of text files that people write.
const WRITTEN: &[&str] = &[
    "rs", "toml", "md", "py", "js", "mjs", "ts", "sh", "yml", "yaml",
];

#[test]
fn relative_links_in_markdown_lead_somewhere() {
    let mut offenders = Vec::new();

    for path in files("md") {
        let page = root().join(&path);
        let folder = page.parent().unwrap_or(&page);
        for link in links(&read(&path)) {
            let target = link.split(['#', '?']).next().unwrap_or_default();
            if !target.is_empty() && !folder.join(target).exists() {
                offenders.push(format!("{path}: {link}"));
            }
        }
    }

    assert_none("Links that lead nowhere:", &offenders);
}

#[test]
fn what_is_left_to_do_has_the_number_of_an_issue() {
    let marks = [concat!("TO", "DO"), concat!("FIX", "ME")];
    let mut offenders = Vec::new();

    for path in WRITTEN.iter().flat_map(|extension| files(extension)) {
        for (index, line) in read(&path).lines().enumerate() {
            let mut rest = marks
                .iter()
                .filter_map(|mark| line.split_once(mark).map(|(_, rest)| rest));
            if rest.any(|rest| !names_an_issue(rest)) {
                offenders.push(format!("{path}:{}: {}", index + 1, line.trim()));
            }
        }
    }

    assert_none("Name the issue, such as (#12):", &offenders);
}

#[test]
fn links_are_found_but_not_those_in_code_or_to_other_places() {
    let page = "[a](b.md) ![c](d.png \"title\") [e](https://f.org) [g](#h) `[i](j)`\n\
                ```text\n[k](l)\n```\n[m](n/o.md#p)\n[q]: r.md\n";

    assert_eq!(links(page), ["b.md", "d.png", "n/o.md#p", "r.md"]);
}

#[test]
fn the_number_of_an_issue_may_have_brackets() {
    assert!(names_an_issue(" (#12): later"));
    assert!(names_an_issue("(#7)"));
    assert!(!names_an_issue(": later"));
    assert!(!names_an_issue(" (#soon)"));
}

fn names_an_issue(rest: &str) -> bool {
    let number = rest.trim_start_matches([' ', '(']).strip_prefix('#');
    number.is_some_and(|number| number.starts_with(|c: char| c.is_ascii_digit()))
}

/// Returns the relative targets of a page's links, fragments and all.
fn links(page: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut fenced = false;
    for line in page.lines() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        }
        if fenced {
            continue;
        }
        if let Some((_, target)) = line.split_once("]: ").filter(|_| line.starts_with('[')) {
            found.push(target);
        }
        // Every second part of a line is code.
        for text in line.split('`').step_by(2) {
            let ends = text.split("](").skip(1);
            found.extend(ends.filter_map(|rest| rest.split_once(')').map(|(target, _)| target)));
        }
    }
    found
        .into_iter()
        .filter_map(|target| target.split_whitespace().next())
        .filter(|target| !target.contains("://"))
        .filter(|target| !target.starts_with('#') && !target.starts_with("mailto:"))
        .map(str::to_owned)
        .collect()
}
