//! The one place that reads YAML, within bounds that a file made to exhaust memory runs into.

use std::borrow::Cow;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use serde_saphyr::{DefaultMessageFormatter, Localizer, Location};

/// More than the longest definition has, and read in no time: a file that multiplies itself by aliases stops here.
const NODES: usize = 2_000;
/// Nesting of lists and mappings; hooks need five levels.
const DEPTH: usize = 32;
/// Aliases in one file.
const ALIASES: usize = 100;

/// What is not YAML.
#[derive(Debug)]
pub(super) struct YamlError {
    /// Line, counted from 1.
    pub(super) line: Option<usize>,
    /// Why, in one line.
    pub(super) why: String,
}

/// Reads a mapping.
pub(super) fn mapping(text: &str) -> Result<Map<String, Value>, YamlError> {
    // An empty document is no mapping to the reader.
    if text.lines().all(|line| {
        let line = line.trim();
        line.is_empty() || line.starts_with('#')
    }) {
        return Ok(Map::new());
    }
    let mut mapping: Map<String, Value> = read(text)?;
    for (key, text) in texts(text) {
        mapping.insert(key.to_owned(), text.into());
    }
    Ok(mapping)
}

/// The texts of a mapping as they were written: a name like `007` or `no` stays one.
fn texts(text: &str) -> impl Iterator<Item = (&'static str, String)> {
    // Where one of them is a list, say, the mapping shows it and it is refused as such.
    let texts: Texts = read(text).unwrap_or_default();
    let texts = [
        ("name", texts.name),
        ("description", texts.description),
        ("model", texts.model),
        ("initialPrompt", texts.initial_prompt),
    ];
    texts
        .into_iter()
        .filter_map(|(key, text)| text.map(|text| (key, text)))
}

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

/// What an error says, in one line.
fn without_places(error: &serde_saphyr::Error) -> String {
    let formatter = DefaultMessageFormatter.with_localizer(&Placeless);
    let said = error.render_with_formatter(&formatter);
    said.lines().next().unwrap_or_default().to_owned()
}

/// The reader counts lines from where its text begins, which is not where the file does: the one place that a message
/// names is the file's.
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
