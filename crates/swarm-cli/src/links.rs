//! Addresses of URLs and places in files that agents name, for terminals that open links.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use swarm_config::Environment;
use swarm_ui::Linker;

use crate::own_process::host_name;

/// Punctuation around a word.
const AROUND: &[char] = &[
    '(', ')', '[', ']', '{', '}', '<', '>', '"', '\'', '`', '*', '_', ',', '.', ';', ':', '!', '?',
];

/// Returns the links in the text of an agent that works in `cwd`; `None` for terminals that would
/// print them.
pub(crate) fn linker(env: &Environment, cwd: &Path) -> Option<Linker> {
    if matches!(env.get("TERM"), None | Some("dumb" | "linux")) {
        return None;
    }
    let (cwd, host) = (cwd.to_owned(), host_name());
    Some(Arc::new(move |word| address(word, &cwd, &host)))
}

/// Returns the address of a word: a URL, or a line of an existing file, in the form that kitty and
/// iTerm2 open (`file://HOST/PATH#LINE`).
fn address(word: &str, cwd: &Path, host: &str) -> Option<String> {
    let word = word.trim_start_matches(AROUND);
    if word.starts_with("https://") || word.starts_with("http://") {
        return Some(url_in(word).to_owned());
    }
    let word = word.trim_end_matches(AROUND);
    let (path, place) = word.split_once(':')?;
    let digits = place
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(place.len());
    let line = &place[..digits];
    if line.is_empty() || path.is_empty() {
        return None;
    }
    let path: PathBuf = cwd.join(path);
    path.is_file()
        .then(|| format!("file://{host}{}#{line}", encoded(&path)))
}

/// Returns a URL without the punctuation behind it. A closing parenthesis belongs to the URL if the
/// URL has the opening one, as in terminals and on GitHub.
fn url_in(word: &str) -> &str {
    let mut url = word;
    while let Some(rest) = url.strip_suffix(AROUND) {
        let count = |sign: char| url.matches(sign).count();
        if url.ends_with(')') && count('(') >= count(')') {
            break;
        }
        url = rest;
    }
    url
}

/// Returns a path as a part of a URL.
fn encoded(path: &Path) -> String {
    let mut out = String::new();
    for &byte in path.as_os_str().as_encoded_bytes() {
        if byte.is_ascii_alphanumeric() || b"/-._~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            // Writing into a String cannot fail.
            let _infallible = write!(out, "%{byte:02X}");
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[expect(clippy::disallowed_methods, reason = "a file that only this test sees")]
    #[test]
    fn urls_and_places_in_existing_files_have_addresses() {
        let directory = tempfile::tempdir().unwrap();
        let cwd = directory.path().canonicalize().unwrap();
        std::fs::write(cwd.join("lib é.rs"), "").unwrap();
        std::fs::write(cwd.join("lib.rs"), "").unwrap();
        let at = |word: &str| address(word, &cwd, "host");
        let lib = format!("file://host{}/lib.rs", cwd.display());
        for (word, expected) in [
            ("https://a.b/c?d=e", Some("https://a.b/c?d=e".to_owned())),
            ("(http://a.b).", Some("http://a.b".to_owned())),
            ("http://a.b/c_(d)", Some("http://a.b/c_(d)".to_owned())),
            ("(http://a.b/c_(d)).", Some("http://a.b/c_(d)".to_owned())),
            ("**http://a.b/(c)/d**,", Some("http://a.b/(c)/d".to_owned())),
            ("lib.rs:7", Some(format!("{lib}#7"))),
            ("`lib.rs:7:12`,", Some(format!("{lib}#7"))),
            ("lib.rs:7-9", Some(format!("{lib}#7"))),
            ("lib.rs", None),
            ("lib.rs:", None),
            ("missing.rs:7", None),
            ("12:30", None),
            ("example.com:443", None),
            ("note: this", None),
        ] {
            assert_eq!(at(word), expected, "{word}");
        }
        let absolute = format!("{}/lib.rs:3", cwd.display());
        assert_eq!(at(&absolute), Some(format!("{lib}#3")));
        let strange = at("lib é.rs:1").unwrap();
        assert!(strange.ends_with("/lib%20%C3%A9.rs#1"), "{strange}");
    }
}
