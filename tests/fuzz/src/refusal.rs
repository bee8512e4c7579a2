//! What a refusal promises: it names the key, and never what is under it.

use conduit_protocol::{Code, WireError};

/// Checks that a refusal has this code, names one of `keys` if there are any, and has
/// no word of the client's. A word that is new here belongs to [`WORDS`], unless it is
/// the client's.
pub fn check(error: &WireError, code: Code, keys: &[&str]) {
    let message = &error.message;
    assert_eq!(error.code, code, "{message}");
    let words: Vec<&str> = message
        .split_whitespace()
        .map(|word| word.trim_matches(['`', '"', ',', ':', '(', ')']))
        .collect();
    let named = words.iter().any(|word| keys.contains(word));
    assert!(named || keys.is_empty(), "names no key: {message}");
    for word in words {
        let ours = keys.contains(&word) || WORDS.split(' ').any(|known| known == word);
        assert!(ours, "is `{word}` a word of ours? {message}");
    }
}

// === Behind the handle ===

/// The words that our refusals are made of, besides keys.
const WORDS: &str = "\
    2.0 256 1000 8192 Base64 Invalid Parse UTF-8 Unsupported _meta a an and are array at batches be \
    body bytes characters contain does entries entry error false has have id integer invalid is \
    jsonrpc level logging match member message method missing more most name names no not object \
    occurs of once or params protocol readable ref/prompt ref/resource request response served \
    string strings supported text than that the to true twice valid version";
