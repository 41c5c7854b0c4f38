//! The parameters of Grep.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::parameters::parse;

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
pub(super) struct Parameters {
    /// The regular expression
    pattern: String,
    /// The file or directory to search [default: the working directory]
    path: Option<String>,
    /// Only files whose path matches, such as `*.js` or `src/**/*.{ts,tsx}`
    glob: Option<String>,
    /// Only files of this type, in ripgrep's terms: rust, py, js, go …
    #[serde(rename = "type")]
    file_type: Option<String>,
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
    numbers: Option<bool>,
    /// Ignore case
    #[serde(rename = "-i", default)]
    ignore_case: bool,
    /// Allow matches across lines, and let `.` match line ends
    #[serde(default)]
    multiline: bool,
    /// The maximum number of results; 0 for all [default: 250]
    head_limit: Option<usize>,
    /// Results to skip
    #[serde(default)]
    offset: usize,
}

/// Parsed parameters of a Grep call, with defaults applied.
#[derive(Debug)]
pub(super) struct GrepQuery {
    pub(super) pattern: String,
    pub(super) path: Option<String>,
    pub(super) glob: Option<String>,
    pub(super) file_type: Option<String>,
    pub(super) mode: Mode,
    pub(super) before: usize,
    pub(super) after: usize,
    pub(super) numbers: bool,
    pub(super) ignore_case: bool,
    pub(super) multiline: bool,
    /// Maximum number of entries; `None` means no limit.
    pub(super) limit: Option<usize>,
    pub(super) offset: usize,
}

impl GrepQuery {
    /// Parses a call; without a `head_limit`, `default_limit` applies.
    pub(super) fn new(input: Value, default_limit: usize) -> Result<Self, String> {
        let input: Parameters = parse("Grep", input)?;
        let around = input.around.or(input.context).unwrap_or(0);
        let limit = input.head_limit.unwrap_or(default_limit);
        Ok(Self {
            pattern: input.pattern,
            path: input.path,
            glob: input.glob,
            file_type: input.file_type,
            mode: input.output_mode.unwrap_or_default(),
            before: input.before.unwrap_or(around),
            after: input.after.unwrap_or(around),
            numbers: input.numbers.unwrap_or(true),
            ignore_case: input.ignore_case,
            multiline: input.multiline,
            limit: (limit > 0).then_some(limit),
            offset: input.offset,
        })
    }
}
