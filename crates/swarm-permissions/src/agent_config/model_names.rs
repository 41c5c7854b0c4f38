//! Model names, their properties and restrictions.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The known properties of models, by name.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
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
    /// Full names of small models, by provider.
    pub small: BTreeMap<String, String>,
    /// Whether models accept images, by prefix of `provider/model`.
    pub vision: BTreeMap<String, bool>,
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

    /// Returns whether a model accepts images, by its full name.
    pub fn has_vision(&self, full: &str) -> bool {
        longest_fitting(&self.vision, full).is_some_and(|sees| *sees)
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
