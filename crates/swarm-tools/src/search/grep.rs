//! The Grep tool.

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use async_trait::async_trait;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder};
use serde_json::Value;
use swarm_protocol::ToolKind;

use super::found::SearchResults;
use super::grep_input::{GrepQuery, Mode, Parameters};
use super::sink::{Count, Lines};
use super::walk::{Selection, newest_first, shown, walk};
use crate::files::{Target, touched};
use crate::one_line::{counted, one_line};
use crate::parameters::schema;
use crate::{Tool, ToolContext, ToolOutput, blocking, prompt};

/// Finds files by content.
#[derive(Debug, Clone, Copy, Default)]
pub struct Grep;

#[async_trait]
impl Tool for Grep {
    fn name(&self) -> &'static str {
        "Grep"
    }

    fn description(&self) -> String {
        prompt!("tools/Grep").to_owned()
    }

    fn input_schema(&self) -> Value {
        schema::<Parameters>()
    }

    fn kind(&self) -> ToolKind {
        ToolKind::Read
    }

    fn is_read_only(&self, _input: &Value) -> bool {
        true
    }

    fn one_line(&self, input: &Value) -> String {
        let pattern = input["pattern"].as_str().unwrap_or_default();
        match input["path"].as_str() {
            Some(path) => one_line(&format!("Grep {pattern} in {path}")),
            None => one_line(&format!("Grep {pattern}")),
        }
    }

    fn touches(&self, input: &Value, cwd: &Path) -> Vec<PathBuf> {
        touched(input, "path", cwd)
    }

    async fn call(&self, input: Value, ctx: &ToolContext) -> ToolOutput {
        blocking::run(ctx, move |ctx| {
            grep(input, ctx).unwrap_or_else(ToolOutput::error)
        })
        .await
    }
}

fn grep(input: Value, ctx: &ToolContext) -> Result<ToolOutput, String> {
    let query = GrepQuery::new(input, ctx.limits.grep_entries)?;
    let target = Target::to_read(query.path.as_deref().unwrap_or("."), ctx)?;
    if !target.real.exists() {
        return Err(format!("{} does not exist.", target.given.display()));
    }
    let mut selection = Selection::default();
    if let Some(globs) = &query.glob {
        let base = if target.real.is_dir() {
            &target.real
        } else {
            &ctx.cwd
        };
        selection = selection.with_globs(globs, base)?;
    }
    if let Some(name) = &query.file_type {
        selection = selection.with_type(name)?;
    }
    let search = Search {
        matcher: matcher(&query)?,
        searcher: searcher(&query),
        target,
        selection,
        ctx,
        counts: SearchCounts::default(),
    };
    let output = match query.mode {
        Mode::Files => search.files(&query),
        Mode::Content => search.content(&query),
        Mode::Count => search.count(&query),
    };
    if ctx.cancel.is_cancelled() {
        return Err("The search was interrupted.".into());
    }
    Ok(output)
}

fn matcher(query: &GrepQuery) -> Result<RegexMatcher, String> {
    let mut builder = RegexMatcherBuilder::new();
    builder.case_insensitive(query.ignore_case).multi_line(true);
    if query.multiline {
        builder.dot_matches_new_line(true);
    } else {
        builder.line_terminator(Some(b'\n'));
    }
    builder.build(&query.pattern).map_err(|error| {
        format!(
            "`{}` is not a valid regular expression: {error}",
            query.pattern.escape_debug()
        )
    })
}

fn searcher(query: &GrepQuery) -> Searcher {
    let content = query.mode == Mode::Content;
    SearcherBuilder::new()
        .multi_line(query.multiline)
        .line_number(true)
        .before_context(if content { query.before } else { 0 })
        .after_context(if content { query.after } else { 0 })
        .binary_detection(BinaryDetection::quit(0))
        .build()
}

#[derive(Debug)]
struct Search<'a> {
    matcher: RegexMatcher,
    searcher: Searcher,
    target: Target,
    selection: Selection,
    ctx: &'a ToolContext,
    counts: SearchCounts,
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
    fn files(mut self, query: &GrepQuery) -> ToolOutput {
        let mut paths = Vec::new();
        self.each_file(1, |path, _| {
            paths.push(path.to_owned());
            true
        });
        let total = paths.len();
        let mut found = SearchResults::new(query.offset, query.limit, self.ctx.limits.grep_chars);
        for path in newest_first(paths) {
            if !found.add(self.shown(&path)) {
                break;
            }
        }
        self.output(total, &found, query, counted(total, "file"))
    }

    fn count(mut self, query: &GrepQuery) -> ToolOutput {
        let mut found = SearchResults::new(query.offset, query.limit, self.ctx.limits.grep_chars);
        let (mut files, mut lines) = (0, 0);
        let (given, real, cwd) = (
            self.target.given.clone(),
            self.target.real.clone(),
            self.ctx.cwd.clone(),
        );
        self.each_file(usize::MAX, |path, count| {
            files += 1;
            lines += count;
            found.add(format!(
                "{}:{count}",
                shown(&as_given(path, &real, &given), &cwd)
            ));
            true
        });
        let summary = format!("{} in {}", counted(lines, "line"), counted(files, "file"));
        let mut output = self.output(files, &found, query, summary.clone());
        if files > 0 {
            output.content = format!("{}\n{summary}", output.content);
        }
        output
    }

    fn content(mut self, query: &GrepQuery) -> ToolOutput {
        let mut found = SearchResults::new(query.offset, query.limit, self.ctx.limits.grep_chars);
        let (mut files, mut matches) = (0, 0);
        let context = query.before + query.after > 0;
        let (given, real) = (self.target.given.clone(), self.target.real.clone());
        walk(&self.target.real, &self.selection, self.ctx, |path| {
            if !self.counts.should_search(path, &self.target, self.ctx) {
                return true;
            }
            let name = shown(&as_given(path, &real, &given), &self.ctx.cwd);
            let mut lines = Lines {
                found: &mut found,
                path: &name,
                numbers: query.numbers,
                line_chars: self.ctx.limits.grep_line_chars,
                matches: 0,
                separate: context && files > 0,
            };
            if let Err(error) = self.searcher.search_path(&self.matcher, path, &mut lines) {
                tracing::debug!(path = %path.display(), %error, "cannot search the file");
            }
            matches += lines.matches;
            files += usize::from(lines.matches > 0);
            !found.is_truncated
        });
        let summary = format!("{} in {}", counted(matches, "line"), counted(files, "file"));
        self.output(files, &found, query, summary)
    }

    /// Calls `visit` with each file that has a match and its number of matching lines, counted up
    /// to `enough`.
    fn each_file(&mut self, enough: usize, mut visit: impl FnMut(&Path, usize) -> bool) {
        let Self {
            matcher,
            searcher,
            target,
            selection,
            ctx,
            counts,
        } = self;
        walk(&target.real, selection, ctx, |path| {
            if !counts.should_search(path, target, ctx) {
                return true;
            }
            let mut count = Count { lines: 0, enough };
            if let Err(error) = searcher.search_path(&*matcher, path, &mut count) {
                tracing::debug!(path = %path.display(), %error, "cannot search the file");
            }
            count.lines == 0 || visit(path, count.lines)
        });
    }

    fn output(
        &self,
        files: usize,
        found: &SearchResults,
        query: &GrepQuery,
        summary: String,
    ) -> ToolOutput {
        let note = self.counts.note();
        if files == 0 {
            let text = match note {
                Some(note) if self.counts.searched == 0 => note,
                Some(note) => format!("No matches.\n{note}"),
                None => "No matches.".to_owned(),
            };
            return ToolOutput::ok(text, "0 files");
        }
        let text = if found.entries.is_empty() {
            format!("There are no results after offset {}.", query.offset)
        } else {
            found.text(query.offset)
        };
        let lines: Vec<String> = std::iter::once(text).chain(note).collect();
        ToolOutput::ok(lines.join("\n"), summary)
    }

    fn shown(&self, path: &Path) -> String {
        shown(
            &as_given(path, &self.target.real, &self.target.given),
            &self.ctx.cwd,
        )
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
