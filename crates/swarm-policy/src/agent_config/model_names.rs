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
    /// The one model, by its full name, that the machine's policy allows; `None` allows all.
    pub only: Option<String>,
}

impl ModelNames {
    /// The context window of a model in tokens, by its full name; `None` where it is not known.
    pub fn window(&self, full: &str) -> Option<u64> {
        longest_fitting(&self.windows, full)
    }

    /// The most output tokens that a model takes for one response, by its full name; `None` where it is not known.
    pub fn max_output(&self, full: &str) -> Option<u32> {
        let tokens = longest_fitting(&self.outputs, full)?;
        Some(u32::try_from(tokens).unwrap_or(u32::MAX))
    }
}

fn longest_fitting(sizes: &BTreeMap<String, u64>, full: &str) -> Option<u64> {
    let fitting = sizes
        .iter()
        .filter(|(beginning, _)| full.starts_with(beginning.as_str()));
    let nearest = fitting.max_by_key(|(beginning, _)| beginning.len());
    nearest.map(|(_, tokens)| *tokens)
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
}
