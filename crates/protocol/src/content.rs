//! The blocks that results of tools and messages of prompts are made of.

use std::borrow::Cow;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Deserializer, Serialize, de};
use serde_json::value::RawValue;

use crate::members;
use crate::meta::Meta;
use crate::raw;
use crate::resources::Resource;

/// One block of a result: `{"type":"text","text":"hello"}`.
///
/// Source: C-TYPE-04.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Content {
    /// Text.
    Text(TextBlock),
    /// A picture.
    Image(MediaBlock),
    /// A sound.
    Audio(MediaBlock),
    /// A resource to read, listed or not.
    ResourceLink(Box<ResourceLink>),
    /// A resource, with what is in it.
    Resource(Box<ResourceBlock>),
}

impl Content {
    /// Makes a block of text.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(TextBlock {
            text: text.into(),
            annotations: None,
            meta: None,
        })
    }

    /// Makes a block of a picture from its bytes.
    #[must_use]
    pub fn image(bytes: &[u8], mime_type: impl Into<String>) -> Self {
        Self::Image(MediaBlock::new(bytes, mime_type.into()))
    }

    /// Makes a block of a sound from its bytes.
    #[must_use]
    pub fn audio(bytes: &[u8], mime_type: impl Into<String>) -> Self {
        Self::Audio(MediaBlock::new(bytes, mime_type.into()))
    }

    /// Makes a block that points at a resource.
    #[must_use]
    pub fn resource_link(uri: impl Into<String>, name: impl Into<String>) -> Self {
        Self::ResourceLink(Box::new(Resource::new(uri, name)))
    }

    /// Makes a block that holds a resource.
    #[must_use]
    pub fn resource(resource: ResourceContents) -> Self {
        Self::Resource(Box::new(ResourceBlock {
            resource,
            annotations: None,
            meta: None,
        }))
    }
}

/// Text.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct TextBlock {
    /// The text.
    pub text: String,
    /// For whom it is, and how much it matters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub annotations: Option<Box<Annotations>>,
    /// What else is known about it.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

/// A picture or a sound.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MediaBlock {
    /// The bytes, in Base64.
    pub data: String,
    /// Their media type.
    pub mime_type: String,
    /// For whom it is, and how much it matters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub annotations: Option<Box<Annotations>>,
    /// What else is known about it.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl MediaBlock {
    pub(crate) fn new(bytes: &[u8], mime_type: String) -> Self {
        Self {
            data: STANDARD.encode(bytes),
            mime_type,
            annotations: None,
            meta: None,
        }
    }
}

/// Points at a resource, which need not be listed.
///
/// Source: C-TYPE-04.
pub type ResourceLink = Resource;

/// Holds a resource.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ResourceBlock {
    /// What is in it.
    pub resource: ResourceContents,
    /// For whom it is, and how much it matters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub annotations: Option<Box<Annotations>>,
    /// What else is known about it.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

/// What is in a resource.
///
/// Source: C-TYPE-05.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged, rename_all_fields = "camelCase")]
#[non_exhaustive]
pub enum ResourceContents {
    /// Text.
    Text {
        /// Where it is.
        uri: String,
        /// The text.
        text: String,
        /// Its media type.
        #[serde(skip_serializing_if = "Option::is_none")]
        mime_type: Option<String>,
        /// What else is known about it.
        #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
        meta: Option<Meta>,
    },
    /// Bytes.
    Blob {
        /// Where it is.
        uri: String,
        /// The bytes, in Base64.
        blob: String,
        /// Their media type.
        #[serde(skip_serializing_if = "Option::is_none")]
        mime_type: Option<String>,
        /// What else is known about it.
        #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
        meta: Option<Meta>,
    },
}

impl ResourceContents {
    /// Takes text.
    #[must_use]
    pub fn text(uri: impl Into<String>, text: impl Into<String>) -> Self {
        Self::Text {
            uri: uri.into(),
            text: text.into(),
            mime_type: None,
            meta: None,
        }
    }

    /// Takes bytes.
    #[must_use]
    pub fn blob(uri: impl Into<String>, bytes: &[u8]) -> Self {
        Self::Blob {
            uri: uri.into(),
            blob: STANDARD.encode(bytes),
            mime_type: None,
            meta: None,
        }
    }

    /// Adds the media type.
    #[must_use]
    pub fn with_mime_type(mut self, name: impl Into<String>) -> Self {
        let (Self::Text { mime_type, .. } | Self::Blob { mime_type, .. }) = &mut self;
        *mime_type = Some(name.into());
        self
    }
}

/// For whom something is, and how much it matters.
///
/// Source: C-TYPE-03.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Annotations {
    /// For whom it is; for everybody when empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub audience: Vec<Role>,
    /// How much it matters, from 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority: Option<f64>,
    /// When it last changed, as ISO 8601 text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_modified: Option<String>,
}

/// A side of a conversation with a model.
///
/// Source: C-TYPE-14.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// The person.
    User,
    /// The model.
    Assistant,
}

impl<'de> Deserialize<'de> for Content {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = Box::<RawValue>::deserialize(deserializer)?;
        match kind_of(&raw).as_deref() {
            Some("text") => block(&raw).map(Self::Text),
            Some("image") => block(&raw).map(Self::Image),
            Some("audio") => block(&raw).map(Self::Audio),
            Some("resource_link") => block(&raw).map(Self::ResourceLink),
            Some("resource") => block(&raw).map(Self::Resource),
            Some(_) | None => Err(de::Error::custom("no kind of block")),
        }
    }
}

impl<'de> Deserialize<'de> for ResourceContents {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Parts {
            uri,
            text,
            blob,
            mime_type,
            meta,
        } = Parts::deserialize(deserializer)?;
        match (text, blob) {
            (Some(text), None) => Ok(Self::Text {
                uri,
                text,
                mime_type,
                meta,
            }),
            (None, Some(blob)) => Ok(Self::Blob {
                uri,
                blob,
                mime_type,
                meta,
            }),
            (Some(_), Some(_)) | (None, None) => Err(de::Error::custom("either text or a blob")),
        }
    }
}

// === Behind the handle ===

/// The members of a resource's contents, of either kind.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Parts {
    uri: String,
    text: Option<String>,
    blob: Option<String>,
    mime_type: Option<String>,
    #[serde(rename = "_meta")]
    meta: Option<Meta>,
}

/// Returns what kind of block this is, if it says so.
///
/// serde's own tags read everything into a buffer first, which no raw value
/// survives.
pub(crate) fn kind_of(raw: &RawValue) -> Option<String> {
    let [kind] = members::read(raw.get(), &["type"]).ok()?;
    kind.one().and_then(raw::string).map(Cow::into_owned)
}

/// Reads a block whose kind is known.
pub(crate) fn block<T: de::DeserializeOwned, E: de::Error>(raw: &RawValue) -> Result<T, E> {
    serde_json::from_str(raw.get()).map_err(E::custom)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(content: &Content, expected: &str) {
        assert_eq!(serde_json::to_string(content).expect("JSON"), expected);
    }

    #[test]
    fn text_is_written_plainly() {
        check(&Content::text("a\nb"), r#"{"type":"text","text":"a\nb"}"#);
    }

    #[test]
    fn bytes_of_a_picture_are_encoded() {
        check(
            &Content::image(&[0xff, 0xfe], "image/png"),
            r#"{"type":"image","data":"//4=","mimeType":"image/png"}"#,
        );
    }

    #[test]
    fn a_resource_holds_text_or_bytes() {
        check(
            &Content::resource(ResourceContents::text("mem://a", "x")),
            r#"{"type":"resource","resource":{"uri":"mem://a","text":"x"}}"#,
        );
        check(
            &Content::resource(ResourceContents::blob("mem://a", b"x")),
            r#"{"type":"resource","resource":{"uri":"mem://a","blob":"eA=="}}"#,
        );
        let typed = ResourceContents::text("mem://a", "x").with_mime_type("text/plain");
        check(
            &Content::resource(typed),
            r#"{"type":"resource","resource":{"uri":"mem://a","text":"x","mimeType":"text/plain"}}"#,
        );
    }

    #[test]
    fn a_link_names_a_resource() {
        check(
            &Content::resource_link("mem://a", "a"),
            r#"{"type":"resource_link","uri":"mem://a","name":"a"}"#,
        );
    }
}
