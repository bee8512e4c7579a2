//! `conduit explain`: the page of an error code.

use conduit_errors::Code;

use super::Error;

/// Returns the page of a code; without a code, the title of every page.
pub(crate) fn answer(name: Option<&str>) -> Result<String, Error> {
    let Some(name) = name else {
        return Ok(Code::all().iter().copied().map(title).collect());
    };
    Code::find(name)
        .map(|code| code.page().to_owned())
        .ok_or_else(|| {
            let known: Vec<_> = Code::all().iter().map(|code| code.name()).collect();
            Error::UnknownCode {
                name: name.to_owned(),
                known: known.join(", "),
            }
        })
}

// === Behind the answer ===

/// Returns the first line of a page without its mark.
fn title(code: Code) -> String {
    let page = code.page();
    let line = page.lines().next().unwrap_or_default();
    format!("{}\n", line.trim_start_matches("# "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_is_explained_by_its_page() {
        let page = answer(Some("config-002")).unwrap();

        assert_eq!(page, Code::CONFIG_INVALID.page());
    }

    #[test]
    fn without_a_code_all_are_listed_a_line_each() {
        let list = answer(None).unwrap();

        assert_eq!(list.lines().count(), Code::all().len());
        assert!(
            list.contains("CONFIG-002: a setting is not valid\n"),
            "{list}"
        );
    }

    #[test]
    fn an_unknown_code_is_answered_with_those_that_exist() {
        let error = answer(Some("CONFIG-999")).unwrap_err();

        let message = error.to_string();
        assert!(
            message.starts_with("there is no code `CONFIG-999`; "),
            "{message}"
        );
        assert!(message.contains("CONFIG-001, CONFIG-002"), "{message}");
    }
}
