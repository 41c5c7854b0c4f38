//! The Grep tool.

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use async_trait::async_trait;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder};
use serde_json::Value;
use swarm_protocol::ToolKind;

use super::found::Found;
use super::grep_input::{Asked, Mode, Parameters};
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
    let asked = Asked::new(input, ctx.limits.grep_entries)?;
    let target = Target::to_read(asked.path.as_deref().unwrap_or("."), ctx)?;
    if !target.real.exists() {
        return Err(format!("{} does not exist.", target.given.display()));
    }
    let mut selection = Selection::default();
    if let Some(globs) = &asked.glob {
        let base = if target.real.is_dir() {
            &target.real
        } else {
            &ctx.cwd
        };
        selection = selection.with_globs(globs, base)?;
    }
    if let Some(name) = &asked.file_type {
        selection = selection.with_type(name)?;
    }
    let search = Search {
        matcher: matcher(&asked)?,
        searcher: searcher(&asked),
        target,
        selection,
        ctx,
        seen: Seen::default(),
    };
    let output = match asked.mode {
        Mode::Files => search.files(&asked),
        Mode::Content => search.content(&asked),
        Mode::Count => search.count(&asked),
    };
    if ctx.cancel.is_cancelled() {
        return Err("The search was interrupted.".into());
    }
    Ok(output)
}

fn matcher(asked: &Asked) -> Result<RegexMatcher, String> {
    let mut builder = RegexMatcherBuilder::new();
    builder.case_insensitive(asked.ignore_case).multi_line(true);
    if asked.multiline {
        builder.dot_matches_new_line(true);
    } else {
        builder.line_terminator(Some(b'\n'));
    }
    builder.build(&asked.pattern).map_err(|error| {
        format!(
            "`{}` is not a regular expression: {error}",
            asked.pattern.escape_debug()
        )
    })
}

fn searcher(asked: &Asked) -> Searcher {
    let content = asked.mode == Mode::Content;
    SearcherBuilder::new()
        .multi_line(asked.multiline)
        .line_number(true)
        .before_context(if content { asked.before } else { 0 })
        .after_context(if content { asked.after } else { 0 })
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
    seen: Seen,
}

/// Which files a search looked at.
#[derive(Debug, Default)]
struct Seen {
    searched: usize,
    /// Left out since they have several names while rules forbid reading some files: they may be one of those.
    linked: usize,
}

impl Seen {
    /// Whether a file is to be searched. One that the call itself names is: the permission was for it.
    fn admits(&mut self, path: &Path, target: &Target, ctx: &ToolContext) -> bool {
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

    /// What the result has to say about files that were not searched.
    fn note(&self) -> Option<String> {
        let linked = (self.linked > 0).then(|| {
            format!(
                "{} with several names (hard links) not searched, because rules forbid reading some files",
                counted(self.linked, "file")
            )
        });
        match (self.searched, linked) {
            (0, None) => Some(
                "No files were searched: none is there that `glob`, `type` and ignore files let through.".to_owned(),
            ),
            (0, Some(linked)) => Some(format!("No files were searched: {linked}.")),
            (_, linked) => linked.map(|linked| format!("[{linked}]")),
        }
    }
}

impl Search<'_> {
    fn files(mut self, asked: &Asked) -> ToolOutput {
        let mut paths = Vec::new();
        self.each_file(1, |path, _| {
            paths.push(path.to_owned());
            true
        });
        let total = paths.len();
        let mut found = Found::new(asked.offset, asked.limit, self.ctx.limits.grep_chars);
        for path in newest_first(paths) {
            if !found.add(self.shown(&path)) {
                break;
            }
        }
        self.output(total, &found, asked, counted(total, "file"))
    }

    fn count(mut self, asked: &Asked) -> ToolOutput {
        let mut found = Found::new(asked.offset, asked.limit, self.ctx.limits.grep_chars);
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
        let mut output = self.output(files, &found, asked, summary.clone());
        if files > 0 {
            output.content = format!("{}\n{summary}", output.content);
        }
        output
    }

    fn content(mut self, asked: &Asked) -> ToolOutput {
        let mut found = Found::new(asked.offset, asked.limit, self.ctx.limits.grep_chars);
        let (mut files, mut matches) = (0, 0);
        let context = asked.before + asked.after > 0;
        let (given, real) = (self.target.given.clone(), self.target.real.clone());
        walk(&self.target.real, &self.selection, self.ctx, |path| {
            if !self.seen.admits(path, &self.target, self.ctx) {
                return true;
            }
            let name = shown(&as_given(path, &real, &given), &self.ctx.cwd);
            let mut lines = Lines {
                found: &mut found,
                path: &name,
                numbers: asked.numbers,
                line_chars: self.ctx.limits.grep_line_chars,
                matches: 0,
                separate: context && files > 0,
            };
            if let Err(error) = self.searcher.search_path(&self.matcher, path, &mut lines) {
                tracing::debug!(path = %path.display(), %error, "cannot be searched");
            }
            matches += lines.matches;
            files += usize::from(lines.matches > 0);
            !found.cut
        });
        let summary = format!("{} in {}", counted(matches, "line"), counted(files, "file"));
        self.output(files, &found, asked, summary)
    }

    /// Calls `visit` with each file that has a match and its number of matching lines, counted up to `enough`.
    fn each_file(&mut self, enough: usize, mut visit: impl FnMut(&Path, usize) -> bool) {
        let Self {
            matcher,
            searcher,
            target,
            selection,
            ctx,
            seen,
        } = self;
        walk(&target.real, selection, ctx, |path| {
            if !seen.admits(path, target, ctx) {
                return true;
            }
            let mut count = Count { lines: 0, enough };
            if let Err(error) = searcher.search_path(&*matcher, path, &mut count) {
                tracing::debug!(path = %path.display(), %error, "cannot be searched");
            }
            count.lines == 0 || visit(path, count.lines)
        });
    }

    fn output(&self, files: usize, found: &Found, asked: &Asked, summary: String) -> ToolOutput {
        let note = self.seen.note();
        if files == 0 {
            let text = match note {
                Some(note) if self.seen.searched == 0 => note,
                Some(note) => format!("Nothing matches.\n{note}"),
                None => "Nothing matches.".to_owned(),
            };
            return ToolOutput::ok(text, "0 files");
        }
        let text = if found.entries.is_empty() {
            format!("Nothing stands behind offset {}.", asked.offset)
        } else {
            found.text(asked.offset)
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

/// A found path in terms of the path that was asked for, which may be a link.
fn as_given(path: &Path, real: &Path, given: &Path) -> PathBuf {
    match path.strip_prefix(real) {
        Ok(rest) if rest.as_os_str().is_empty() => given.to_owned(),
        Ok(rest) => given.join(rest),
        Err(_) => path.to_owned(),
    }
}
