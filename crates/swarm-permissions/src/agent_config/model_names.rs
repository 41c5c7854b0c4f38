//! What names of models mean, and which of them may be used.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// What there is to know of names of models beside the names themselves.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ModelNames {
    /// `CLAUDE_CODE_SUBAGENT_MODEL`.
    pub environment: Option<String>,
    /// Short names.
    pub aliases: BTreeMap<String, String>,
    /// Context windows in tokens, by the beginning of `provider/model`.
    pub windows: BTreeMap<String, u64>,
    /// Output tokens of one response, by the beginning of `provider/model`.
    pub outputs: BTreeMap<String, u64>,
    /// Small models by provider, by their full names.
    pub small: BTreeMap<String, String>,
    /// Whether models read images, by the beginning of `provider/model`.
    pub vision: BTreeMap<String, bool>,
    /// Until when models know the world, in words, by the beginning of `provider/model`.
    pub knowledge: BTreeMap<String, String>,
    /// The one model, by its full name, that the machine's policy allows; `None` allows all.
    pub only: Option<String>,
}

impl ModelNames {
    /// The context window of a model in tokens, by its full name; `None` where it is not known.
    pub fn window(&self, full: &str) -> Option<u64> {
        longest_fitting(&self.windows, full).copied()
    }

    /// The most output tokens that a model takes for one response, by its full name; `None` where it is not known.
    pub fn max_output(&self, full: &str) -> Option<u32> {
        let tokens = longest_fitting(&self.outputs, full)?;
        Some(u32::try_from(*tokens).unwrap_or(u32::MAX))
    }

    /// Whether a model reads images, by its full name.
    pub fn has_vision(&self, full: &str) -> bool {
        longest_fitting(&self.vision, full).is_some_and(|sees| *sees)
    }

    /// Until when a model knows the world, by its full name, in words such as `May 2025`; `None` where that is not known.
    pub fn knowledge(&self, full: &str) -> Option<&str> {
        longest_fitting(&self.knowledge, full).map(String::as_str)
    }

    /// The small model of the provider of a model, by full names. `None` where the provider has none, or the machine's
    /// policy allows another model alone.
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
    fn the_longest_fitting_entry_gives_the_window_and_the_output_limit() {
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
    fn a_provider_without_a_small_model_and_a_policy_for_one_model_give_none() {
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
