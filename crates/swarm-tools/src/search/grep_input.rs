//! What a Grep call asks for.

use serde_json::Value;

use crate::input::Input;

/// How matches are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    /// The paths of files with a match.
    Files,
    /// The matching lines.
    Content,
    /// How many lines match in each file.
    Count,
}

/// A Grep call, read.
#[derive(Debug)]
pub(super) struct Asked<'a> {
    pub(super) pattern: &'a str,
    pub(super) path: Option<&'a str>,
    pub(super) glob: Option<&'a str>,
    pub(super) file_type: Option<&'a str>,
    pub(super) mode: Mode,
    pub(super) before: usize,
    pub(super) after: usize,
    pub(super) numbers: bool,
    pub(super) ignore_case: bool,
    pub(super) multiline: bool,
    /// Entries to show; none for all.
    pub(super) limit: Option<usize>,
    pub(super) offset: usize,
}

const PARAMETERS: [&str; 14] = [
    "pattern",
    "path",
    "glob",
    "type",
    "output_mode",
    "-A",
    "-B",
    "-C",
    "context",
    "-n",
    "-i",
    "multiline",
    "head_limit",
    "offset",
];

impl<'a> Asked<'a> {
    /// Reads the input; without a `head_limit`, `default_limit` holds, and 0 means all.
    pub(super) fn new(input: &'a Value, default_limit: usize) -> Result<Self, String> {
        let input = Input::new("Grep", input, &PARAMETERS)?;
        let mode = match input.optional_text("output_mode")? {
            None | Some("files_with_matches") => Mode::Files,
            Some("content") => Mode::Content,
            Some("count") => Mode::Count,
            Some(other) => {
                return Err(format!(
                    "`output_mode` of Grep is `files_with_matches`, `content` or `count`, not `{}`.",
                    other.escape_debug()
                ));
            }
        };
        let around = match input.count("-C")? {
            Some(lines) => lines,
            None => input.count("context")?.unwrap_or(0),
        };
        let limit = input.count("head_limit")?.unwrap_or(default_limit);
        Ok(Self {
            pattern: input.text("pattern")?,
            path: input.optional_text("path")?,
            glob: input.optional_text("glob")?,
            file_type: input.optional_text("type")?,
            mode,
            before: input.count("-B")?.unwrap_or(around),
            after: input.count("-A")?.unwrap_or(around),
            numbers: input.optional_flag("-n")?.unwrap_or(true),
            ignore_case: input.flag("-i")?,
            multiline: input.flag("multiline")?,
            limit: (limit > 0).then_some(limit),
            offset: input.count("offset")?.unwrap_or(0),
        })
    }
}
