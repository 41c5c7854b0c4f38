//! The Grep tool.

use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use async_trait::async_trait;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink};
use serde_json::Value;
use swarm_protocol::ToolKind;

use super::grep_input::{Mode, Parameters};
use super::sink::{Count, Lines, SearchResults};
use super::walk::{Selection, newest_first, search_line, shown, walk};
use crate::files::Target;
use crate::one_line::counted;
use crate::{ToolContext, ToolOutput, TypedTool, blocking, prompt};

/// Finds files by content.
#[derive(Debug, Clone, Copy, Default)]
pub struct Grep;

#[async_trait]
impl TypedTool for Grep {
    type Parameters = Parameters;
    const NAME: &'static str = "Grep";
    const PROMPT: &'static str = prompt!("tools/Grep");
    const KIND: ToolKind = ToolKind::Read;
    const READ_ONLY: bool = true;
    const PATH: Option<&'static str> = Some("path");

    fn one_line(&self, input: &Value) -> String {
        search_line(Self::NAME, input)
    }

    async fn call(&self, input: Parameters, ctx: &ToolContext) -> Result<ToolOutput, String> {
        blocking::run(ctx, move |ctx| grep(&input, ctx)).await
    }
}

fn grep(input: &Parameters, ctx: &ToolContext) -> Result<ToolOutput, String> {
    let target = Target::to_read(input.path.as_deref().unwrap_or("."), ctx)?;
    if !target.real.exists() {
        return Err(format!("{} does not exist.", target.given.display()));
    }
    let mut selection = Selection::default();
    if let Some(globs) = &input.glob {
        let base = if target.real.is_dir() {
            &target.real
        } else {
            &ctx.cwd
        };
        selection = selection.with_globs(globs, base)?;
    }
    if let Some(name) = &input.file_type {
        selection = selection.with_type(name)?;
    }
    let search = Search {
        input,
        matcher: matcher(input)?,
        target,
        selection,
        ctx,
    };
    let output = match input.mode() {
        Mode::Files => search.files(),
        Mode::Content => search.content(),
        Mode::Count => search.count(),
    };
    if ctx.cancel.is_cancelled() {
        return Err("The search was interrupted.".into());
    }
    Ok(output)
}

fn matcher(input: &Parameters) -> Result<RegexMatcher, String> {
    let mut builder = RegexMatcherBuilder::new();
    builder.case_insensitive(input.ignore_case).multi_line(true);
    if input.multiline {
        builder.dot_matches_new_line(true);
    } else {
        builder.line_terminator(Some(b'\n'));
    }
    builder.build(&input.pattern).map_err(|error| {
        format!(
            "`{}` is not a valid regular expression: {error}",
            input.pattern.escape_debug()
        )
    })
}

fn searcher(input: &Parameters) -> Searcher {
    let (before, after) = match input.mode() {
        Mode::Content => input.surroundings(),
        Mode::Files | Mode::Count => (0, 0),
    };
    SearcherBuilder::new()
        .multi_line(input.multiline)
        .line_number(true)
        .before_context(before)
        .after_context(after)
        .binary_detection(BinaryDetection::quit(0))
        .build()
}

#[derive(Debug)]
struct Search<'a> {
    input: &'a Parameters,
    matcher: RegexMatcher,
    target: Target,
    selection: Selection,
    ctx: &'a ToolContext,
}

/// Counts of searched and skipped files.
#[derive(Debug, Default)]
struct SearchCounts {
    searched: usize,
    /// Files skipped because they have several hard links while rules forbid reading some files: a
    /// link may be one of those.
    linked: usize,
}

impl SearchCounts {
    /// Whether to search a file. A file named in the call is always searched, because permission
    /// was given for it.
    fn should_search(&mut self, path: &Path, target: &Target, ctx: &ToolContext) -> bool {
        let several_names = ctx.protected.restricts_reading()
            && path != target.real
            && path.symlink_metadata().is_ok_and(|found| found.nlink() > 1);
        if several_names {
            self.linked += 1;
        } else {
            self.searched += 1;
        }
        !several_names
    }

    /// Returns a note about files that were not searched.
    fn note(&self) -> Option<String> {
        let linked = (self.linked > 0).then(|| {
            format!(
                "{} with several hard links not searched, because rules forbid reading some files",
                counted(self.linked, "file")
            )
        });
        match (self.searched, linked) {
            (0, None) => Some(
                "No files were searched: `glob`, `type` and ignore files exclude all files."
                    .to_owned(),
            ),
            (0, Some(linked)) => Some(format!("No files were searched: {linked}.")),
            (_, linked) => linked.map(|linked| format!("[{linked}]")),
        }
    }
}

impl Search<'_> {
    fn files(&self) -> ToolOutput {
        let mut paths = Vec::new();
        let counts = self.count_lines(1, |path, _| paths.push(path.to_owned()));
        let total = paths.len();
        let mut found = self.results();
        for path in newest_first(paths) {
            if !found.add(self.name(&path)) {
                break;
            }
        }
        self.output(&counts, total, &found, counted(total, "file"))
    }

    fn count(&self) -> ToolOutput {
        let mut found = self.results();
        let (mut files, mut lines) = (0, 0);
        let counts = self.count_lines(usize::MAX, |path, count| {
            files += 1;
            lines += count;
            found.add(format!("{}:{count}", self.name(path)));
        });
        let summary = format!("{} in {}", counted(lines, "line"), counted(files, "file"));
        let mut output = self.output(&counts, files, &found, summary.clone());
        if files > 0 {
            output.content = format!("{}\n{summary}", output.content);
        }
        output
    }

    fn content(&self) -> ToolOutput {
        let mut found = self.results();
        let (mut files, mut matches) = (0, 0);
        let has_context = self.input.surroundings() != (0, 0);
        let counts = self.each_file(|path, searcher| {
            let mut lines = Lines {
                found: &mut found,
                path: &self.name(path),
                numbers: self.input.numbers.unwrap_or(true),
                line_chars: self.ctx.limits.grep_line_chars,
                matches: 0,
                separate: has_context && files > 0,
            };
            self.search(searcher, path, &mut lines);
            matches += lines.matches;
            files += usize::from(lines.matches > 0);
            !found.is_truncated
        });
        let summary = format!("{} in {}", counted(matches, "line"), counted(files, "file"));
        self.output(&counts, files, &found, summary)
    }

    fn results(&self) -> SearchResults {
        let limits = &self.ctx.limits;
        let limit = self.input.limit(limits.grep_entries);
        SearchResults::new(self.input.offset, limit, limits.grep_chars)
    }

    /// Calls `visit` with each file that has a match and its number of matching lines, counted up
    /// to `enough`.
    fn count_lines(&self, enough: usize, mut visit: impl FnMut(&Path, usize)) -> SearchCounts {
        self.each_file(|path, searcher| {
            let mut count = Count { lines: 0, enough };
            self.search(searcher, path, &mut count);
            if count.lines > 0 {
                visit(path, count.lines);
            }
            true
        })
    }

    /// Calls `visit` with each file to search until it returns false.
    fn each_file(&self, mut visit: impl FnMut(&Path, &mut Searcher) -> bool) -> SearchCounts {
        let mut searcher = searcher(self.input);
        let mut counts = SearchCounts::default();
        walk(&self.target.real, &self.selection, self.ctx, |path| {
            !counts.should_search(path, &self.target, self.ctx) || visit(path, &mut searcher)
        });
        counts
    }

    fn search(&self, searcher: &mut Searcher, path: &Path, sink: impl Sink<Error = io::Error>) {
        if let Err(error) = searcher.search_path(&self.matcher, path, sink) {
            tracing::debug!(path = %path.display(), %error, "cannot search the file");
        }
    }

    fn output(
        &self,
        counts: &SearchCounts,
        files: usize,
        found: &SearchResults,
        summary: String,
    ) -> ToolOutput {
        let (note, offset) = (counts.note(), self.input.offset);
        if files == 0 {
            let text = match note {
                Some(note) if counts.searched == 0 => note,
                Some(note) => format!("No matches.\n{note}"),
                None => "No matches.".to_owned(),
            };
            return ToolOutput::ok(text, "0 files");
        }
        let text = if found.entries.is_empty() {
            format!("There are no results after offset {offset}.")
        } else {
            found.text(offset)
        };
        let lines: Vec<String> = std::iter::once(text).chain(note).collect();
        ToolOutput::ok(lines.join("\n"), summary)
    }

    /// Returns a found path for display.
    fn name(&self, path: &Path) -> String {
        let path = as_given(path, &self.target.real, &self.target.given);
        shown(&path, &self.ctx.cwd)
    }
}

/// Converts a found path to one below the given path, which may be a symbolic link.
fn as_given(path: &Path, real: &Path, given: &Path) -> PathBuf {
    match path.strip_prefix(real) {
        Ok(rest) if rest.as_os_str().is_empty() => given.to_owned(),
        Ok(rest) => given.join(rest),
        Err(_) => path.to_owned(),
    }
}
