//! Model names, their properties and restrictions.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use swarm_protocol::Price;

/// The known properties of models, by name.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ModelNames {
    /// `CLAUDE_CODE_SUBAGENT_MODEL`.
    pub environment: Option<String>,
    /// Model aliases.
    pub aliases: BTreeMap<String, String>,
    /// Context windows in tokens, by prefix of `provider/model`.
    pub windows: BTreeMap<String, u64>,
    /// Maximum output tokens of one response, by prefix of `provider/model`.
    pub outputs: BTreeMap<String, u64>,
    /// Prices, by `provider/model` without a date, or `provider/` for all models of a provider.
    pub prices: BTreeMap<String, Price>,
    /// Full names of small models, by provider.
    pub small: BTreeMap<String, String>,
    /// Whether models accept images, by prefix of `provider/model`.
    pub vision: BTreeMap<String, bool>,
    /// Requests of all agents per minute, by provider.
    pub rates: BTreeMap<String, u64>,
    /// Knowledge cutoff dates as text, by prefix of `provider/model`.
    pub knowledge: BTreeMap<String, String>,
    /// The full name of the only model that managed policy allows; `None` allows all.
    pub only: Option<String>,
}

impl ModelNames {
    /// Returns the context window of a model in tokens, by its full name, if known.
    pub fn window(&self, full: &str) -> Option<u64> {
        longest_fitting(&self.windows, full).copied()
    }

    /// Returns the maximum output tokens of one response, by the model's full name, if known.
    pub fn max_output(&self, full: &str) -> Option<u32> {
        let tokens = longest_fitting(&self.outputs, full)?;
        Some(u32::try_from(*tokens).unwrap_or(u32::MAX))
    }

    /// Returns the price of a model, by its full name, if known. An entry is for one model, with or
    /// without a date (`-20250929`, `-2025-08-07`) or `-latest`: other models whose names begin
    /// alike often have other prices.
    pub fn price(&self, full: &str) -> Option<&Price> {
        let is_for = |entry: &str| match full.strip_prefix(entry) {
            Some("" | "-latest") => true,
            Some(_) if entry.ends_with('/') => true,
            Some(rest) => is_date(rest),
            None => false,
        };
        let fitting = self.prices.iter().filter(|(entry, _)| is_for(entry));
        let nearest = fitting.max_by_key(|(entry, _)| entry.len());
        nearest.map(|(_, price)| price)
    }

    /// Returns whether a model accepts images, by its full name.
    pub fn has_vision(&self, full: &str) -> bool {
        longest_fitting(&self.vision, full).is_some_and(|sees| *sees)
    }

    /// Returns how many requests all agents together may send to a provider in one minute, if that
    /// is limited.
    pub fn requests_per_minute(&self, provider: &str) -> Option<u64> {
        self.rates.get(provider).copied()
    }

    /// Returns the knowledge cutoff of a model, such as `May 2025`, by its full name, if known.
    pub fn knowledge(&self, full: &str) -> Option<&str> {
        longest_fitting(&self.knowledge, full).map(String::as_str)
    }

    /// Returns the knowledge cutoff of a model given by its short name. `beside` is the full name of a
    /// model of the same provider.
    pub fn knowledge_of(&self, short: &str, beside: &str) -> Option<&str> {
        let (provider, _) = beside.split_once('/')?;
        self.knowledge(&format!("{provider}/{short}"))
    }

    /// Returns the full name of the small model of a model's provider. `None` if the provider has
    /// none or managed policy allows only another model.
    pub fn small(&self, full: &str) -> Option<&str> {
        let (provider, _) = full.split_once('/')?;
        let small = self.small.get(provider)?;
        let is_allowed = self.only.as_ref().is_none_or(|only| only == small);
        is_allowed.then_some(small.as_str())
    }
}

/// Returns whether the rest of a model's name is a date, such as `-20250929` or `-2025-08-07`.
fn is_date(rest: &str) -> bool {
    let digits = rest.chars().filter(char::is_ascii_digit).count();
    digits == 8 && rest.starts_with('-') && rest.chars().all(|c| c == '-' || c.is_ascii_digit())
}

fn longest_fitting<'a, T>(entries: &'a BTreeMap<String, T>, full: &str) -> Option<&'a T> {
    let fitting = entries
        .iter()
        .filter(|(beginning, _)| full.starts_with(beginning.as_str()));
    let nearest = fitting.max_by_key(|(beginning, _)| beginning.len());
    nearest.map(|(_, entry)| entry)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_matching_prefix_gives_the_window_and_the_output_limit() {
        let sizes = [
            ("anthropic/", 200_000),
            ("anthropic/claude-opus-9", 1_000_000),
        ];
        let names = ModelNames {
            windows: sizes.map(|(name, tokens)| (name.to_owned(), tokens)).into(),
            outputs: sizes
                .map(|(name, tokens)| (name.to_owned(), tokens / 10))
                .into(),
            ..ModelNames::default()
        };
        assert_eq!(names.window("anthropic/claude-haiku-4-5"), Some(200_000));
        assert_eq!(names.window("anthropic/claude-opus-9-1"), Some(1_000_000));
        assert_eq!(names.window("openai/anthropic/x"), None);
        assert_eq!(names.max_output("anthropic/claude-haiku-4-5"), Some(20_000));
        assert_eq!(names.max_output("anthropic/claude-opus-9-1"), Some(100_000));
        assert_eq!(names.max_output("openai/anthropic/x"), None);
    }

    #[test]
    fn a_price_is_for_one_model_with_or_without_a_date() {
        let price = |input| Price {
            input,
            output: 0.0,
            cache_read: None,
            cache_write: None,
            cache_write_1h: None,
            as_of: None,
        };
        let prices = [
            ("anthropic/claude-opus-4", 15.0),
            ("anthropic/claude-opus-4-6", 5.0),
            ("openai/gpt-5", 1.25),
            ("scripted/", 1.0),
        ];
        let names = ModelNames {
            prices: prices
                .map(|(name, input)| (name.to_owned(), price(input)))
                .into(),
            ..ModelNames::default()
        };
        for (name, input) in [
            ("anthropic/claude-opus-4-6", Some(5.0)),
            ("anthropic/claude-opus-4-6-20260205", Some(5.0)),
            ("anthropic/claude-opus-4-20250514", Some(15.0)),
            ("anthropic/claude-opus-4-7", None),
            ("openai/gpt-5-2025-08-07", Some(1.25)),
            ("openai/gpt-5-mini", None),
            ("openai/gpt-5.2", None),
            ("scripted//tmp/x.toml", Some(1.0)),
        ] {
            let found = names.price(name).map(|price| price.input);
            assert_eq!(found, input, "{name}");
        }
    }

    #[test]
    fn no_small_model_without_an_entry_or_against_the_policy() {
        let mut names = ModelNames {
            small: [("anthropic".to_owned(), "anthropic/small-1".to_owned())].into(),
            ..ModelNames::default()
        };
        assert_eq!(names.small("anthropic/big-1"), Some("anthropic/small-1"));
        assert_eq!(names.small("openai/gpt"), None);
        assert_eq!(names.small(""), None);
        names.only = Some("anthropic/big-1".to_owned());
        assert_eq!(names.small("anthropic/big-1"), None);
    }
}
