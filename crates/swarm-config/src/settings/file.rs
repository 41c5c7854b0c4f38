//! Reading one settings file.

use std::path::Path;

use serde::Deserialize as _;
use serde::de::IntoDeserializer as _;
use serde_json::Value;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::given::{Layer, SettingValue, ValueLocation};
use super::keys::{KEYS, Key, SettableBy, key, nearest_key, nearest_table};
use crate::error::ConfigError;

pub(super) fn read_file(path: &Path, layer: Layer) -> Result<Vec<SettingValue>, ConfigError> {
    let Some(text) = text_of(path)? else {
        return Ok(Vec::new());
    };
    parse(&text, layer, |line| {
        ValueLocation::File(path.to_owned(), line)
    })
}

/// Returns the text of a file; `None` if it does not exist.
pub(super) fn text_of(path: &Path) -> Result<Option<String>, ConfigError> {
    use std::io::ErrorKind::{InvalidData, NotADirectory, NotFound};
    match std::fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if matches!(error.kind(), NotFound | NotADirectory) => Ok(None),
        Err(error) if error.kind() == InvalidData => Err(ConfigError::invalid(
            format!("{} is not UTF-8 text", path.display()),
            "save it as UTF-8",
        )),
        Err(error) => Err(ConfigError::unreadable(path, &error)),
    }
}

/// Parses the settings in a file. All errors are reported together.
pub(super) fn parse(
    text: &str,
    layer: Layer,
    place: impl Fn(Option<usize>) -> ValueLocation,
) -> Result<Vec<SettingValue>, ConfigError> {
    let line_at = |offset: usize| text[..offset].matches('\n').count() + 1;
    let table = DeTable::parse(text).map_err(|error| {
        let line = error.span().map(|span| line_at(span.start));
        ConfigError::not_toml(place(line), error.message())
    })?;
    let mut reader = Reader {
        layer,
        place,
        line_at,
        given: Vec::new(),
        wrong: Vec::new(),
    };
    reader.document(table.into_inner());
    if reader.wrong.is_empty() {
        return Ok(reader.given);
    }
    Err(ConfigError::invalid(
        reader.wrong.join("; "),
        "fix the file; run `swarm config list` to see all settings",
    ))
}

pub(super) fn did_you_mean(nearest: Option<&str>) -> String {
    nearest.map_or_else(String::new, |it| format!("; did you mean `{it}`?"))
}

struct Reader<P, L> {
    layer: Layer,
    place: P,
    line_at: L,
    given: Vec<SettingValue>,
    wrong: Vec<String>,
}

impl<P: Fn(Option<usize>) -> ValueLocation, L: Fn(usize) -> usize> Reader<P, L> {
    fn document(&mut self, document: DeTable<'_>) {
        for (name, value) in document {
            let at = name.span().start;
            let name = name.into_inner();
            let known = KEYS
                .iter()
                .any(|key| key.name.split('.').next() == Some(&name));
            match value.into_inner() {
                DeValue::Table(table) if known => self.table(&name, table),
                DeValue::Table(_) => self.unknown("table", &name, nearest_table(&name), at),
                _ => self.unknown("setting", &name, nearest_key(&name), at),
            }
        }
    }

    fn table(&mut self, table: &str, entries: DeTable<'_>) {
        for (name, value) in entries {
            let at = name.span().start;
            let name = format!("{table}.{}", name.into_inner());
            match key(&name) {
                Some(key) => self.setting(key, value, at),
                None => self.unknown("setting", &name, nearest_key(&name), at),
            }
        }
    }

    fn setting(&mut self, key: &'static Key, value: Spanned<DeValue<'_>>, at: usize) {
        let name = key.name;
        if self.layer == Layer::Project && key.settable_by == SettableBy::User {
            let sentence = format!("`{name}` cannot be set by a repository");
            return self.wrong(&sentence, at);
        }
        match Value::deserialize(value.into_deserializer()) {
            Ok(value) if key.kind.accepts(&value) => {
                let place = (self.place)(Some((self.line_at)(at)));
                self.given.push(SettingValue {
                    key: name,
                    layer: self.layer,
                    place,
                    value,
                });
            }
            Ok(value) => {
                let expected = key.kind.expected();
                self.wrong(&format!("`{name}` must be {expected}, not {value}"), at);
            }
            Err(error) => self.wrong(&format!("`{name}`: {}", error.message()), at),
        }
    }

    fn unknown(&mut self, what: &str, name: &str, nearest: Option<&str>, at: usize) {
        let name = name.escape_debug();
        let meant = did_you_mean(nearest);
        self.wrong(&format!("unknown {what} `{name}`{meant}"), at);
    }

    fn wrong(&mut self, sentence: &str, at: usize) {
        let place = (self.place)(Some((self.line_at)(at)));
        self.wrong.push(format!("{place}: {sentence}"));
    }
}
