//! The parameters of Grep.

use schemars::JsonSchema;
use serde::Deserialize;

/// Output format of matches.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum Mode {
    #[default]
    #[serde(rename = "files_with_matches")]
    Files,
    Content,
    Count,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Parameters {
    /// The regular expression
    pub(super) pattern: String,
    /// The file or directory to search [default: the working directory]
    pub(super) path: Option<String>,
    /// Only files whose path matches, such as `*.js` or `src/**/*.{ts,tsx}`
    pub(super) glob: Option<String>,
    /// Only files of this type, in ripgrep's terms: rust, py, js, go …
    #[serde(rename = "type")]
    pub(super) file_type: Option<String>,
    /// What to return [default: `files_with_matches`]
    output_mode: Option<Mode>,
    /// Lines to show after each match, with `output_mode` content
    #[serde(rename = "-A")]
    after: Option<usize>,
    /// Lines to show before each match, with `output_mode` content
    #[serde(rename = "-B")]
    before: Option<usize>,
    /// Lines to show before and after each match, with `output_mode` content
    #[serde(rename = "-C")]
    around: Option<usize>,
    /// Alias of `-C`
    context: Option<usize>,
    /// Show line numbers, with `output_mode` content [default: true]
    #[serde(rename = "-n")]
    pub(super) numbers: Option<bool>,
    /// Ignore case
    #[serde(rename = "-i", default)]
    pub(super) ignore_case: bool,
    /// Allow matches across lines, and let `.` match line ends
    #[serde(default)]
    pub(super) multiline: bool,
    /// The maximum number of results; 0 for all [default: 250]
    head_limit: Option<usize>,
    /// Results to skip
    #[serde(default)]
    pub(super) offset: usize,
}

impl Parameters {
    pub(super) fn mode(&self) -> Mode {
        self.output_mode.unwrap_or_default()
    }

    /// Returns the numbers of lines to show before and after each match.
    pub(super) fn surroundings(&self) -> (usize, usize) {
        let around = self.around.or(self.context).unwrap_or(0);
        (self.before.unwrap_or(around), self.after.unwrap_or(around))
    }

    /// Returns the maximum number of entries; `None` means no limit.
    pub(super) fn limit(&self, default: usize) -> Option<usize> {
        let limit = self.head_limit.unwrap_or(default);
        (limit > 0).then_some(limit)
    }
}
