//! The only module that parses YAML, with limits against memory exhaustion.

use std::borrow::Cow;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use serde_saphyr::{DefaultMessageFormatter, Localizer, Location};

/// Maximum number of nodes, above any real definition; stops exponential alias expansion.
const NODES: usize = 2_000;
/// Maximum nesting of lists and mappings; hooks need five levels.
const DEPTH: usize = 32;
/// Maximum number of aliases in a file.
const ALIASES: usize = 100;

#[derive(Debug)]
pub(super) struct YamlError {
    /// Line, counted from 1.
    pub(super) line: Option<usize>,
    /// The reason, in one line.
    pub(super) why: String,
}

pub(super) fn mapping(text: &str) -> Result<Map<String, Value>, YamlError> {
    // The parser does not accept an empty document as a mapping.
    if text.lines().all(|line| {
        let line = line.trim();
        line.is_empty() || line.starts_with('#')
    }) {
        return Ok(Map::new());
    }
    let mut mapping: Map<String, Value> = read(text)?;
    // If one of them is a list, for example, the mapping contains it and it is rejected later.
    let texts: Texts = read(text).unwrap_or_default();
    for (key, text) in [
        ("name", texts.name),
        ("description", texts.description),
        ("model", texts.model),
        ("initialPrompt", texts.initial_prompt),
    ] {
        mapping.extend(text.map(|text| (key.to_owned(), Value::from(text))));
    }
    Ok(mapping)
}

/// Strings as written, so that a name such as `007` or `no` remains a string.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Texts {
    name: Option<String>,
    description: Option<String>,
    model: Option<String>,
    initial_prompt: Option<String>,
}

fn read<T: DeserializeOwned>(text: &str) -> Result<T, YamlError> {
    let options = serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_nodes: NODES,
            max_depth: DEPTH,
            max_aliases: ALIASES,
        },
        with_snippet: false,
        strict_booleans: true,
    };
    serde_saphyr::from_str_with_options(text, options).map_err(|error| YamlError {
        line: error
            .location()
            .and_then(|place| usize::try_from(place.line()).ok())
            .filter(|line| *line > 0),
        why: without_places(&error),
    })
}

/// Returns an error message in one line.
fn without_places(error: &serde_saphyr::Error) -> String {
    let formatter = DefaultMessageFormatter.with_localizer(&Placeless);
    let said = error.render_with_formatter(&formatter);
    said.lines().next().unwrap_or_default().to_owned()
}

/// Removes line numbers from the parser's messages: they are relative to the YAML, while our
/// messages give the line in the file.
struct Placeless;

impl Localizer for Placeless {
    fn attach_location<'a>(&self, base: Cow<'a, str>, _: Location) -> Cow<'a, str> {
        base
    }

    fn alias_defined_at(&self, _: Location) -> String {
        String::new()
    }

    fn alias_used_at(&self, _: Location) -> String {
        String::new()
    }
}
