//! The types of setting values.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::Value;
use swarm_model::Provider;
use swarm_permissions::HandoffScan;
use swarm_protocol::{
    AnswerInPlace, Budget, CacheLifetime, Effort, OnLost, PeerInbound, PermissionMode, Price,
    SandboxNetwork, SandboxUse, Thinking,
};
use swarm_ui::EditorMode;
use swarm_worktree::{Dependencies, MergeMode, Uncommitted};

/// The permission modes, from least to most permissive.
pub(super) const MODES: &[&str] = &[
    "plan",
    "dontAsk",
    "default",
    "acceptEdits",
    "bypassPermissions",
];

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
            Self::Names | Self::Sizes | Self::Rates | Self::Flags | Self::Prices
        )
    }
}

impl Kind {
    /// Returns whether the value is valid.
    pub(super) fn accepts(self, value: &Value) -> bool {
        let filled = |value: &Value| value.as_str().is_some_and(|text| !text.trim().is_empty());
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
            Self::Names => value
                .as_object()
                .is_some_and(|all| all.values().all(filled)),
            Self::Sizes => value
                .as_object()
                .is_some_and(|all| all.values().all(|n| n.as_u64().is_some_and(|n| n > 0))),
            Self::Rates => {
                let is_known = |name: &String| server_names().contains(&name.as_str());
                let all = value.as_object();
                Self::Sizes.accepts(value) && all.is_some_and(|all| all.keys().all(is_known))
            }
            Self::Flags => value
                .as_object()
                .is_some_and(|all| all.values().all(Value::is_boolean)),
            Self::Prices => value
                .as_object()
                .is_some_and(|all| all.values().all(|entry| price(entry).is_some())),
            Self::Budget => Option::<Budget>::from_setting(value).is_some(),
        }
    }

    /// Describes the valid values, to complete a sentence with "must be".
    pub(super) fn expected(self) -> String {
        match self {
            Self::Text => "a string".to_owned(),
            Self::OptionalText => "a string, or empty for none".to_owned(),
            Self::Address => "an http or https URL that contains {query}, or empty".to_owned(),
            Self::Word([first @ .., last]) => format!("{} or {last}", first.join(", ")),
            Self::Word([]) => "nothing".to_owned(),
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

    /// Parses a value from one line of text: list elements are separated by commas, table entries
    /// are NAME=VALUE.
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
            Self::Texts => parts().map(Value::from).collect(),
            Self::Names => {
                let pair = |part: &str| {
                    let (name, text) = part.split_once('=')?;
                    Some((name.trim().to_owned(), Value::from(text.trim())))
                };
                Value::Object(parts().map(pair).collect::<Option<_>>()?)
            }
            Self::Sizes | Self::Rates => {
                let pair = |part: &str| {
                    let (name, number) = part.split_once('=')?;
                    let number = number.trim().parse::<u64>().ok()?;
                    Some((name.trim().to_owned(), Value::from(number)))
                };
                Value::Object(parts().map(pair).collect::<Option<_>>()?)
            }
            Self::Flags => {
                let pair = |part: &str| {
                    let (name, word) = part.split_once('=')?;
                    Some((name.trim().to_owned(), flag(word)?))
                };
                Value::Object(parts().map(pair).collect::<Option<_>>()?)
            }
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
            Self::Text
            | Self::OptionalText
            | Self::Address
            | Self::Thinking
            | Self::Flag
            | Self::Texts
            | Self::Names
            | Self::Sizes
            | Self::Rates
            | Self::Flags
            | Self::Prices
            | Self::Budget => None,
        }
    }

    /// Merges a stronger layer's value over a weaker one: tables keep entries that the stronger one
    /// lacks.
    pub(super) fn merge_over(self, weaker: Option<&Value>, stronger: &Value) -> Value {
        match (self.is_table(), weaker, stronger) {
            (true, Some(Value::Object(weaker)), Value::Object(stronger)) => {
                let mut all = weaker.clone();
                all.extend(stronger.clone());
                Value::Object(all)
            }
            _ => stronger.clone(),
        }
    }
}

/// A type of a setting's value.
pub(super) trait FromSetting: Sized {
    /// Converts the value, if it has this type.
    fn from_setting(value: &Value) -> Option<Self>;
}

impl FromSetting for String {
    fn from_setting(value: &Value) -> Option<Self> {
        value.as_str().map(str::to_owned)
    }
}

impl FromSetting for bool {
    fn from_setting(value: &Value) -> Option<Self> {
        value.as_bool()
    }
}

impl FromSetting for u32 {
    fn from_setting(value: &Value) -> Option<Self> {
        value.as_u64()?.try_into().ok()
    }
}

impl FromSetting for usize {
    fn from_setting(value: &Value) -> Option<Self> {
        value.as_u64()?.try_into().ok()
    }
}

impl FromSetting for f64 {
    fn from_setting(value: &Value) -> Option<Self> {
        value.as_f64()
    }
}

/// Parses whole seconds.
impl FromSetting for Duration {
    fn from_setting(value: &Value) -> Option<Self> {
        value.as_u64().map(Self::from_secs)
    }
}

impl FromSetting for Vec<String> {
    fn from_setting(value: &Value) -> Option<Self> {
        value.as_array()?.iter().map(String::from_setting).collect()
    }
}

impl FromSetting for BTreeMap<String, String> {
    fn from_setting(value: &Value) -> Option<Self> {
        let entry =
            |(name, text): (&String, &Value)| Some((name.clone(), String::from_setting(text)?));
        value.as_object()?.iter().map(entry).collect()
    }
}

impl FromSetting for BTreeMap<String, u64> {
    fn from_setting(value: &Value) -> Option<Self> {
        let entry = |(name, number): (&String, &Value)| Some((name.clone(), number.as_u64()?));
        value.as_object()?.iter().map(entry).collect()
    }
}

fn server_names() -> [&'static str; 2] {
    Provider::SERVERS.map(Provider::as_str)
}

fn flag(text: &str) -> Option<Value> {
    match text.trim() {
        "true" | "1" | "yes" | "on" => Some(Value::Bool(true)),
        "false" | "0" | "no" | "off" => Some(Value::Bool(false)),
        _ => None,
    }
}

impl FromSetting for BTreeMap<String, bool> {
    fn from_setting(value: &Value) -> Option<Self> {
        let entry = |(name, flag): (&String, &Value)| Some((name.clone(), flag.as_bool()?));
        value.as_object()?.iter().map(entry).collect()
    }
}

fn price(value: &Value) -> Option<Price> {
    let price: Price = serde_json::from_value(value.clone()).ok()?;
    price.is_valid().then_some(price)
}

impl FromSetting for BTreeMap<String, Price> {
    fn from_setting(value: &Value) -> Option<Self> {
        let entry = |(name, entry): (&String, &Value)| Some((name.clone(), price(entry)?));
        value.as_object()?.iter().map(entry).collect()
    }
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

impl FromSetting for CacheLifetime {
    fn from_setting(value: &Value) -> Option<Self> {
        let word = value.as_str()?;
        Self::ALL
            .into_iter()
            .find(|lifetime| lifetime.name() == word)
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

impl FromSetting for PermissionMode {
    fn from_setting(value: &Value) -> Option<Self> {
        value.as_str()?.parse().ok()
    }
}

impl FromSetting for SandboxUse {
    fn from_setting(value: &Value) -> Option<Self> {
        let word = value.as_str()?;
        Self::ALL.into_iter().find(|whose| whose.name() == word)
    }
}

impl FromSetting for SandboxNetwork {
    fn from_setting(value: &Value) -> Option<Self> {
        let word = value.as_str()?;
        Self::ALL.into_iter().find(|network| network.name() == word)
    }
}

impl FromSetting for OnLost {
    fn from_setting(value: &Value) -> Option<Self> {
        let word = value.as_str()?;
        Self::ALL.into_iter().find(|on_lost| on_lost.name() == word)
    }
}

impl FromSetting for AnswerInPlace {
    fn from_setting(value: &Value) -> Option<Self> {
        match value.as_str()? {
            "never" => Some(Self::Never),
            "auto" => Some(Self::Auto),
            "always" => Some(Self::Always),
            _ => None,
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

impl FromSetting for HandoffScan {
    fn from_setting(value: &Value) -> Option<Self> {
        match value.as_str()? {
            "withhold" => Some(Self::Withhold),
            "on" => Some(Self::On),
            "off" => Some(Self::Off),
            _ => None,
        }
    }
}

impl FromSetting for PeerInbound {
    fn from_setting(value: &Value) -> Option<Self> {
        let word = value.as_str()?;
        Self::ALL.into_iter().find(|inbound| inbound.name() == word)
    }
}

impl FromSetting for Uncommitted {
    fn from_setting(value: &Value) -> Option<Self> {
        let word = value.as_str()?;
        Self::ALL
            .into_iter()
            .find(|uncommitted| uncommitted.name() == word)
    }
}

impl FromSetting for Dependencies {
    fn from_setting(value: &Value) -> Option<Self> {
        let word = value.as_str()?;
        Self::ALL
            .into_iter()
            .find(|dependencies| dependencies.name() == word)
    }
}

impl FromSetting for MergeMode {
    fn from_setting(value: &Value) -> Option<Self> {
        let word = value.as_str()?;
        Self::ALL
            .into_iter()
            .find(|mergemode| mergemode.name() == word)
    }
}
