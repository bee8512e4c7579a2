//! Arguments that clients repeat in headers: properties with `x-mcp-header`.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::value::RawValue;

use crate::limits::SCHEMA_DEPTH;
use crate::raw;
use crate::tools::InvalidTool;

/// An argument of a tool that clients repeat in a header:
/// `{"type":"string","x-mcp-header":"Region"}`.
///
/// Source: M-HDR-06, M-HDR-09.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeaderParam {
    header: Box<str>,
    path: Box<[Box<str>]>,
}

impl HeaderParam {
    /// Returns the name of the header, in lower case: `mcp-param-region`.
    #[must_use]
    pub fn header(&self) -> &str {
        &self.header
    }

    /// Returns where the value is among the arguments: the names of the properties
    /// that lead to it, the outermost first.
    pub fn path(&self) -> impl Iterator<Item = &str> {
        self.path.iter().map(|name| &**name)
    }
}

/// Finds the annotated properties of an input schema.
pub(super) fn find(schema: &RawValue) -> Result<Box<[HeaderParam]>, InvalidTool> {
    let mut found = Vec::new();
    let mut headers = BTreeSet::new();
    let mut places = Vec::new();
    if may_mention_headers(schema) {
        places.push(Place::root(schema));
    }
    while let Some(place) = places.pop() {
        if place.depth > SCHEMA_DEPTH {
            return Err(InvalidTool::SchemaDepth);
        }
        let Some(keywords) = members(place.schema) else {
            continue;
        };
        if let Some(param) = place.param(&keywords)? {
            if !headers.insert(param.header.clone()) {
                let header = param.header.into();
                return Err(InvalidTool::HeaderTwice { header });
            }
            found.push(param);
        }
        for (keyword, value) in keywords {
            place.enter(&keyword, value, &mut places);
        }
    }
    Ok(found.into())
}

// === Behind the handle ===

const KEYWORD: &str = "x-mcp-header";

/// Most schemas have no annotation, and need no walk to tell.
fn may_mention_headers(schema: &RawValue) -> bool {
    let text = schema.get();
    text.contains(KEYWORD) || text.contains(r"\u")
}

/// A schema inside of the input schema, or itself.
struct Place<'a> {
    schema: &'a RawValue,
    /// The names of the properties that lead here; nothing where something else
    /// than properties does.
    path: Option<Vec<Box<str>>>,
    depth: usize,
}

impl<'a> Place<'a> {
    const fn root(schema: &'a RawValue) -> Self {
        Self {
            schema,
            path: Some(Vec::new()),
            depth: 0,
        }
    }

    fn param(
        &self,
        keywords: &BTreeMap<String, &RawValue>,
    ) -> Result<Option<HeaderParam>, InvalidTool> {
        let Some(annotation) = keywords.get(KEYWORD) else {
            return Ok(None);
        };
        let Some(path) = self.path.as_ref().filter(|path| !path.is_empty()) else {
            return Err(InvalidTool::HeaderPlace);
        };
        let property = || path.join(".");
        let kind = keywords.get("type").and_then(|kind| raw::string(kind));
        if !matches!(kind.as_deref(), Some("string" | "integer" | "boolean")) {
            return Err(InvalidTool::HeaderType {
                property: property(),
            });
        }
        match raw::string(annotation).filter(|name| is_token(name)) {
            Some(name) => Ok(Some(HeaderParam {
                header: format!("mcp-param-{}", name.to_ascii_lowercase()).into(),
                path: path.as_slice().into(),
            })),
            None => Err(InvalidTool::HeaderName {
                property: property(),
            }),
        }
    }

    /// Adds the schemas that the value of a keyword holds.
    ///
    /// A keyword that nobody knows may hold schemas: what clients might take for an
    /// annotation counts as one.
    fn enter(&self, keyword: &str, value: &'a RawValue, places: &mut Vec<Self>) {
        match keyword {
            "const" | "default" | "enum" | "examples" => {}
            "properties" => {
                let properties = members(value).into_iter().flatten();
                places.extend(properties.map(|(name, schema)| self.property(name, schema)));
            }
            "$defs" | "definitions" | "dependentSchemas" | "patternProperties" => {
                let schemas = members(value).into_iter().flatten();
                places.extend(schemas.map(|(_name, schema)| self.elsewhere(schema)));
            }
            _ if value.get().starts_with('[') => {
                let schemas: Option<Vec<_>> = serde_json::from_str(value.get()).ok();
                let schemas = schemas.into_iter().flatten();
                places.extend(schemas.map(|schema| self.elsewhere(schema)));
            }
            _ => places.push(self.elsewhere(value)),
        }
    }

    fn property(&self, name: String, schema: &'a RawValue) -> Self {
        let path = self.path.as_ref().map(|path| {
            let mut path = path.clone();
            path.push(name.into());
            path
        });
        Self {
            path,
            ..self.elsewhere(schema)
        }
    }

    const fn elsewhere(&self, schema: &'a RawValue) -> Self {
        Self {
            schema,
            path: None,
            depth: self.depth + 1,
        }
    }
}

/// The members of an object, the last one where a name occurs twice.
fn members(object: &RawValue) -> Option<BTreeMap<String, &RawValue>> {
    serde_json::from_str(object.get()).ok()
}

/// Whether a name can be part of a header's name (RFC 9110, `token`).
fn is_token(name: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !name.is_empty() && name.bytes().all(allowed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(schema: &str) -> Result<Box<[HeaderParam]>, InvalidTool> {
        find(serde_json::from_str(schema).expect("valid JSON"))
    }

    fn properties(properties: &str) -> String {
        format!(r#"{{"type":"object","properties":{{{properties}}}}}"#)
    }

    #[track_caller]
    fn check(schema: &str, expected: &[(&str, &[&str])]) {
        let found = found(schema).expect("a tool");

        let mut shown: Vec<_> = found
            .iter()
            .map(|param| (param.header(), param.path().collect::<Vec<_>>()))
            .collect();
        shown.sort();
        let expected: Vec<_> = expected
            .iter()
            .map(|(header, path)| (*header, path.to_vec()))
            .collect();
        assert_eq!(shown, expected);
    }

    #[track_caller]
    fn refused(schema: &str, expected: &InvalidTool) {
        assert_eq!(found(schema).as_ref(), Err(expected), "{schema}");
    }

    #[test]
    fn a_schema_without_annotations_has_none() {
        check(r#"{"type":"object"}"#, &[]);
        check(&properties(r#""a":{"type":"string"},"b":true"#), &[]);
    }

    #[test]
    fn properties_of_three_types_can_be_repeated() {
        check(
            &properties(
                r#""r":{"type":"string","x-mcp-header":"Region"},"l":{"type":"integer","x-mcp-header":"Level"},"d":{"type":"boolean","x-mcp-header":"Method"}"#,
            ),
            &[
                ("mcp-param-level", &["l"]),
                ("mcp-param-method", &["d"]),
                ("mcp-param-region", &["r"]),
            ],
        );
    }

    #[test]
    fn properties_of_properties_can_be_repeated() {
        let inner = properties(r#""b.c":{"type":"string","x-mcp-header":"B"}"#);

        check(
            &properties(&format!(r#""a":{inner}"#)),
            &[("mcp-param-b", &["a", "b.c"])],
        );
    }

    #[test]
    fn an_annotation_is_found_however_its_key_is_spelt() {
        check(
            &properties(r#""a":{"type":"string","x\u002dmcp-header":"A"}"#),
            &[("mcp-param-a", &["a"])],
        );
    }

    #[test]
    fn what_only_looks_like_an_annotation_is_none() {
        check(
            &properties(
                r#""x-mcp-header":{"type":"string"},"a":{"default":{"x-mcp-header":"A"},"const":{"x-mcp-header":"A"},"enum":[{"x-mcp-header":"A"}],"examples":[{"x-mcp-header":"A"}]}"#,
            ),
            &[],
        );
    }

    #[test]
    fn a_name_that_is_no_token_is_refused() {
        for name in [
            r#""""#, "1", "null", r#""a b""#, r#""é""#, r#""a:""#, r#""a\n""#,
        ] {
            refused(
                &properties(&format!(r#""a":{{"type":"string","x-mcp-header":{name}}}"#)),
                &InvalidTool::HeaderName {
                    property: "a".into(),
                },
            );
        }
    }

    #[test]
    fn a_property_of_another_type_is_refused() {
        for kind in [
            r#""type":"number","#,
            r#""type":"object","#,
            r#""type":["string","null"],"#,
            "",
        ] {
            let inner = properties(&format!(r#""b":{{{kind}"x-mcp-header":"B"}}"#));
            refused(
                &properties(&format!(r#""a":{inner}"#)),
                &InvalidTool::HeaderType {
                    property: "a.b".into(),
                },
            );
        }
    }

    #[test]
    fn an_annotation_that_properties_do_not_lead_to_is_refused() {
        let annotated = r#"{"type":"string","x-mcp-header":"A"}"#;
        let inner = properties(&format!(r#""a":{annotated}"#));
        for keyword in [
            format!(r#""items":{annotated}"#),
            format!(r#""prefixItems":[true,{annotated}]"#),
            format!(r#""allOf":[{inner}]"#),
            format!(r#""if":{inner}"#),
            format!(r#""not":{inner}"#),
            format!(r#""additionalProperties":{annotated}"#),
            format!(r#""patternProperties":{{"^a":{annotated}}}"#),
            format!(r#""$defs":{{"a":{annotated}}}"#),
            format!(r#""properties":{{"a":{{"items":{annotated}}}}}"#),
        ] {
            refused(
                &format!(r#"{{"type":"object",{keyword}}}"#),
                &InvalidTool::HeaderPlace,
            );
        }
        refused(
            r#"{"type":"object","x-mcp-header":"A"}"#,
            &InvalidTool::HeaderPlace,
        );
    }

    #[test]
    fn two_properties_with_one_header_are_refused() {
        refused(
            &properties(
                r#""a":{"type":"string","x-mcp-header":"Region"},"b":{"type":"string","x-mcp-header":"REGION"}"#,
            ),
            &InvalidTool::HeaderTwice {
                header: "mcp-param-region".into(),
            },
        );
    }

    #[test]
    fn a_very_deep_schema_is_refused_only_where_headers_are_mentioned() {
        let deep = |inner: &str| {
            format!(
                r#"{{"type":"object","not":{}{inner}{}}}"#,
                r#"{"not":"#.repeat(5000),
                "}".repeat(5000)
            )
        };

        assert!(found(&deep("{}")).is_ok());
        refused(&deep(r#"{"x-mcp-header":"A"}"#), &InvalidTool::SchemaDepth);
    }
}
