//! The types of setting values.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::time::Duration;

use serde::Deserialize as _;
use serde_json::{Map, Value};
use swarm_model::Provider;
use swarm_permissions::HandoffScan;
use swarm_protocol::{
    AnswerInPlace, Budget, CacheLifetime, Effort, OnLost, PeerInbound, PermissionMode, Price,
    SandboxNetwork, SandboxUse, Thinking, with_conjunction, word_list,
};
use swarm_ui::EditorMode;
use swarm_worktree::{Dependencies, MergeMode, Uncommitted};

/// The permission modes, from least to most permissive.
pub(super) const MODES: &[&str] =
    &word_list::<5>("plan dontAsk default acceptEdits bypassPermissions");

/// The effort levels and the word for the model's default.
pub(super) const EFFORTS: &[&str] = &["auto", "low", "medium", "high", "xhigh", "max"];

/// The type of a value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Kind {
    /// A non-empty string.
    Text,
    /// A string, empty for none.
    OptionalText,
    /// A URL that contains `{query}`, or an empty string for none.
    Address,
    /// One of these words, from least to most permissive.
    Word(&'static [&'static str]),
    /// An integer in this inclusive range.
    Whole(u64, u64),
    /// An integer up to this one; 0 means no limit.
    Limit(u64),
    /// A number from 0 to this one.
    Factor(f64),
    /// `off`, `adaptive` or a number of tokens.
    Thinking,
    /// A boolean.
    Flag,
    /// A list of strings.
    Texts,
    /// A table of strings.
    Names,
    /// A table of strings by provider.
    Models,
    /// A table of positive integers.
    Sizes,
    /// A table of positive integers by provider with a server.
    Rates,
    /// A table of booleans.
    Flags,
    /// A table of prices.
    Prices,
    /// An amount of money or tokens, or an empty string for none.
    Budget,
}

impl Kind {
    /// Returns whether each entry is a separate setting: a stronger layer adds entries to those of
    /// the weaker ones.
    pub(super) fn is_table(self) -> bool {
        matches!(
            self,
            Self::Names | Self::Models | Self::Sizes | Self::Rates | Self::Flags | Self::Prices
        )
    }

    pub(super) fn accepts(self, value: &Value) -> bool {
        let filled = |value: &Value| value.as_str().is_some_and(|text| !text.trim().is_empty());
        let table_of = |is_valid: fn(&Value) -> bool| {
            let entries = value.as_object();
            entries.is_some_and(|entries| entries.values().all(is_valid))
        };
        let only_of = |names: &[&str]| {
            let entries = value.as_object();
            entries.is_some_and(|entries| entries.keys().all(|name| names.contains(&name.as_str())))
        };
        match self {
            Self::Text => filled(value),
            Self::OptionalText => value.is_string(),
            Self::Address => value.as_str().is_some_and(|text| {
                let web = text.starts_with("https://") || text.starts_with("http://");
                text.is_empty() || (web && text.contains("{query}"))
            }),
            Self::Word(words) => value.as_str().is_some_and(|word| words.contains(&word)),
            Self::Whole(least, most) => value.as_u64().is_some_and(|n| (least..=most).contains(&n)),
            Self::Limit(most) => value.as_u64().is_some_and(|n| n <= most),
            Self::Factor(most) => value.as_f64().is_some_and(|n| (0.0..=most).contains(&n)),
            Self::Thinking => thinking(value).is_some(),
            Self::Flag => value.is_boolean(),
            Self::Texts => value.as_array().is_some_and(|all| all.iter().all(filled)),
            Self::Names => table_of(filled),
            Self::Models => table_of(filled) && only_of(&Provider::ALL.map(Provider::name)),
            Self::Sizes => table_of(|number| number.as_u64().is_some_and(|number| number > 0)),
            Self::Rates => Self::Sizes.accepts(value) && only_of(&server_names()),
            Self::Flags => table_of(Value::is_boolean),
            Self::Prices => table_of(is_price),
            Self::Budget => Option::<Budget>::from_setting(value).is_some(),
        }
    }

    /// Describes the valid values, to complete a sentence with "must be".
    pub(super) fn expected(self) -> String {
        match self {
            Self::Text => "a string".to_owned(),
            Self::OptionalText => "a string, or empty for none".to_owned(),
            Self::Address => "an http or https URL that contains {query}, or empty".to_owned(),
            Self::Word(words) => with_conjunction(words, "or"),
            Self::Whole(least, most) => format!("a whole number from {least} to {most}"),
            Self::Limit(most) => format!("a whole number up to {most}; 0 means no limit"),
            Self::Factor(most) => format!("a number from 0 to {most}"),
            Self::Thinking => format!(
                "off, adaptive or a number of tokens from {}",
                Thinking::LEAST
            ),
            Self::Flag => "true or false".to_owned(),
            Self::Texts => "a list of strings".to_owned(),
            Self::Names => "a table of strings".to_owned(),
            Self::Models => format!(
                "a table of model names for {}",
                Provider::ALL.map(Provider::name).join(", ")
            ),
            Self::Sizes => "a table of whole numbers above 0".to_owned(),
            Self::Rates => format!(
                "a table of whole numbers above 0 for {}",
                server_names().join(" and ")
            ),
            Self::Flags => "a table of booleans".to_owned(),
            Self::Prices => "a table of prices in dollars per million tokens, each with input, output and optionally cache_read, cache_write, cache_write_1h, as_of".to_owned(),
            Self::Budget => "an amount such as 5$ or 500k-tokens, or empty for none".to_owned(),
        }
    }

    /// Parses a value from one line of text: list elements are separated by commas, unless the list
    /// is written as in TOML; table entries are NAME=VALUE.
    pub(super) fn parse(self, text: &str) -> Option<Value> {
        let parts = || {
            text.split(',')
                .map(str::trim)
                .filter(|part| !part.is_empty())
        };
        let value = match self {
            Self::Text
            | Self::OptionalText
            | Self::Address
            | Self::Word(_)
            | Self::Thinking
            | Self::Budget => Value::from(text),
            // Prices have too many parts for one line.
            Self::Prices => return None,
            Self::Whole(..) | Self::Limit(_) => Value::from(text.trim().parse::<u64>().ok()?),
            Self::Factor(_) => Value::from(text.trim().parse::<f64>().ok()?),
            Self::Flag => flag(text)?,
            Self::Texts if text.trim_start().starts_with('[') => toml_list(text)?,
            // Probably a list for another format; as a path it would match nothing.
            Self::Texts if text.contains(['"', '\'', '[', ']']) => return None,
            Self::Texts => parts().map(Value::from).collect(),
            Self::Names | Self::Models => table(parts(), |text| Some(text.into()))?,
            Self::Sizes | Self::Rates => {
                table(parts(), |text| Some(text.parse::<u64>().ok()?.into()))?
            }
            Self::Flags => table(parts(), flag)?,
        };
        self.accepts(&value).then_some(value)
    }

    /// Compares which value grants more; `None` for values without an order.
    pub(super) fn compare(self, one: &Value, other: &Value) -> Option<Ordering> {
        match self {
            Self::Word(words) => {
                let rank = |value: &Value| words.iter().position(|word| value == word);
                Some(rank(one)?.cmp(&rank(other)?))
            }
            Self::Limit(_) => {
                let most =
                    |value: &Value| value.as_u64().map(|n| if n == 0 { u64::MAX } else { n });
                Some(most(one)?.cmp(&most(other)?))
            }
            Self::Whole(..) => Some(one.as_u64()?.cmp(&other.as_u64()?)),
            Self::Factor(_) => one.as_f64()?.partial_cmp(&other.as_f64()?),
            _ => None,
        }
    }

    /// Merges a stronger layer's value over a weaker one: tables keep entries that the stronger one
    /// lacks.
    pub(super) fn merge_over<'a>(self, weaker: &Value, stronger: &'a Value) -> Cow<'a, Value> {
        match (self.is_table(), weaker, stronger) {
            (true, Value::Object(weaker), Value::Object(stronger)) => {
                let mut all = weaker.clone();
                all.extend(stronger.clone());
                Cow::Owned(Value::Object(all))
            }
            _ => Cow::Borrowed(stronger),
        }
    }
}

/// A type of a setting's value.
pub(super) trait FromSetting: Sized {
    /// Converts the value, if it has this type.
    fn from_setting(value: &Value) -> Option<Self>;
}

macro_rules! deserialized {
    ($($type:ty),+ $(,)?) => {$(
        impl FromSetting for $type {
            fn from_setting(value: &Value) -> Option<Self> {
                Self::deserialize(value).ok()
            }
        }
    )+};
}

deserialized! {
    String,
    bool,
    u32,
    usize,
    f64,
    Vec<String>,
    BTreeMap<String, String>,
    BTreeMap<String, u64>,
    BTreeMap<String, bool>,
    BTreeMap<String, Price>,
    AnswerInPlace,
    CacheLifetime,
    Dependencies,
    HandoffScan,
    MergeMode,
    OnLost,
    PeerInbound,
    PermissionMode,
    SandboxNetwork,
    SandboxUse,
    Uncommitted,
}

/// Parses whole seconds.
impl FromSetting for Duration {
    fn from_setting(value: &Value) -> Option<Self> {
        value.as_u64().map(Self::from_secs)
    }
}

fn server_names() -> [&'static str; 2] {
    Provider::SERVERS.map(Provider::name)
}

fn flag(text: &str) -> Option<Value> {
    match text.trim() {
        "true" | "1" | "yes" | "on" => Some(Value::Bool(true)),
        "false" | "0" | "no" | "off" => Some(Value::Bool(false)),
        _ => None,
    }
}

/// Parses a list in TOML's syntax.
fn toml_list(text: &str) -> Option<Value> {
    let mut document: Map<String, Value> = toml::from_str(&format!("list = {text}")).ok()?;
    let list = document.remove("list")?;
    // Other keys were on more lines.
    document.is_empty().then_some(list)
}

/// Parses entries NAME=VALUE of a table.
fn table<'a>(
    mut parts: impl Iterator<Item = &'a str>,
    value: impl Fn(&str) -> Option<Value>,
) -> Option<Value> {
    parts
        .try_fold(Map::new(), |mut entries, part| {
            let (name, text) = part.split_once('=')?;
            entries.insert(name.trim().to_owned(), value(text.trim())?);
            Some(entries)
        })
        .map(Value::Object)
}

fn is_price(value: &Value) -> bool {
    Price::deserialize(value).is_ok_and(|price| price.is_valid())
}

/// Parses a budget; an empty text is `None`.
impl FromSetting for Option<Budget> {
    fn from_setting(value: &Value) -> Option<Self> {
        match value.as_str()?.trim() {
            "" => Some(None),
            text => text.parse().ok().map(Some),
        }
    }
}

/// Parses a number or a string.
fn thinking(value: &Value) -> Option<Thinking> {
    match value {
        Value::String(text) => text.parse().ok(),
        Value::Number(number) => number.to_string().parse().ok(),
        _ => None,
    }
}

impl FromSetting for Thinking {
    fn from_setting(value: &Value) -> Option<Self> {
        thinking(value)
    }
}

/// Parses an effort; `auto` is `None`.
impl FromSetting for Option<Effort> {
    fn from_setting(value: &Value) -> Option<Self> {
        match value.as_str()? {
            "auto" => Some(None),
            word => word.parse().ok().map(Some),
        }
    }
}

impl FromSetting for EditorMode {
    fn from_setting(value: &Value) -> Option<Self> {
        match value.as_str()? {
            "normal" => Some(Self::Normal),
            "vim" => Some(Self::Vim),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_list_is_separated_by_commas_or_written_as_in_toml_and_nothing_else() {
        let list = |text: &str| Kind::Texts.parse(text);
        for text in [
            "~/.ssh, /a b",
            r#"["~/.ssh", "/a b"]"#,
            " ['~/.ssh','/a b',] ",
        ] {
            assert_eq!(list(text), Some(json!(["~/.ssh", "/a b"])), "{text}");
        }
        assert_eq!(list(""), Some(json!([])));
        assert_eq!(list("[]"), Some(json!([])));
        assert_eq!(list(r#"["it's, here"]"#), Some(json!(["it's, here"])));
        for text in [
            "[~/.ssh,/a]",
            r#"["/a",""]"#,
            "[1]",
            "['/a'",
            "['/a']\nother = 1",
            "\"/a\",\"/b\"",
            "'/a'",
            "/a,[/b]",
        ] {
            assert_eq!(list(text), None, "{text}");
        }
    }
}
