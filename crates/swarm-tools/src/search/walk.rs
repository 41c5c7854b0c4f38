//! Directory traversal with ripgrep's rules.

use std::path::{Path, PathBuf};

use ignore::overrides::{Override, OverrideBuilder};
use ignore::types::{Types, TypesBuilder};
use ignore::{DirEntry, WalkBuilder};
use serde_json::Value;

use crate::{ToolContext, one_line};

/// Files that a search includes.
#[derive(Debug, Default)]
pub(super) struct Selection {
    /// Patterns with or without `!`, as for `rg --glob`.
    pub(super) globs: Option<Override>,
    /// File types, as for `rg --type`.
    pub(super) types: Option<Types>,
    /// Whether to include files that ignore files such as `.gitignore` exclude.
    pub(super) everything: bool,
}

impl Selection {
    /// Adds the patterns of a `glob` parameter, separated by white space, or by commas outside
    /// braces.
    pub(super) fn with_globs(mut self, text: &str, base: &Path) -> Result<Self, String> {
        let mut overrides = OverrideBuilder::new(base);
        for glob in split_globs(text) {
            overrides
                .add(&glob)
                .map_err(|error| format!("`{glob}` is not a valid glob: {error}."))?;
        }
        let globs = overrides
            .build()
            .map_err(|error| format!("`{text}` is not a valid glob: {error}."))?;
        self.globs = Some(globs);
        Ok(self)
    }

    /// Restricts the search to a file type such as `rust` or `py`.
    pub(super) fn with_type(mut self, name: &str) -> Result<Self, String> {
        let mut types = TypesBuilder::new();
        types.add_defaults().select(name);
        self.types = Some(types.build().map_err(|_| {
            format!("`{name}` is not a file type of ripgrep. Use `glob` instead, for example `*.{name}`.")
        })?);
        Ok(self)
    }
}

fn split_globs(text: &str) -> Vec<String> {
    let mut globs = vec![String::new()];
    let mut depth = 0_u32;
    for c in text.chars() {
        match c {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        let separates = depth == 0 && (c == ',' || c.is_whitespace());
        match globs.last_mut() {
            Some(last) if !separates => last.push(c),
            _ => globs.push(String::new()),
        }
    }
    globs.retain(|glob| !glob.is_empty());
    globs
}

/// Calls `visit` with every file below `base`, sorted by name, until it returns false or the call
/// is interrupted. Hidden files are included. Links are not followed; protected files and the git
/// directory are excluded.
pub(super) fn walk(
    base: &Path,
    selection: &Selection,
    ctx: &ToolContext,
    mut visit: impl FnMut(&Path) -> bool,
) {
    let mut builder = WalkBuilder::new(base);
    builder
        .standard_filters(!selection.everything)
        .hidden(false)
        // Locating the user's global ignore file would require reading the environment.
        .git_global(false)
        .require_git(false)
        .current_dir(&ctx.cwd)
        .sort_by_file_name(std::ffi::OsStr::cmp);
    if let Some(globs) = &selection.globs {
        builder.overrides(globs.clone());
    }
    if let Some(types) = &selection.types {
        builder.types(types.clone());
    }
    let protected = ctx.protected.clone();
    builder.filter_entry(move |entry| !(is_git_directory(entry) || protected.hides(entry.path())));
    for entry in builder.build().flatten() {
        if ctx.cancel.is_cancelled() {
            break;
        }
        let is_file = entry.file_type().is_some_and(|kind| kind.is_file());
        if is_file && !visit(entry.path()) {
            break;
        }
    }
}

fn is_git_directory(entry: &DirEntry) -> bool {
    entry.depth() > 0 && entry.file_name() == ".git"
}

/// Formats the call of a search tool on one line.
pub(super) fn search_line(tool: &str, input: &Value) -> String {
    let pattern = input["pattern"].as_str().unwrap_or_default();
    match input["path"].as_str() {
        Some(path) => one_line(&format!("{tool} {pattern} in {path}")),
        None => one_line(&format!("{tool} {pattern}")),
    }
}

/// Formats a path, relative if it is below the working directory.
pub(super) fn shown(path: &Path, cwd: &Path) -> String {
    match path.strip_prefix(cwd) {
        Ok(rest) if !rest.as_os_str().is_empty() => rest.display().to_string(),
        _ => path.display().to_string(),
    }
}

/// Sorts paths by modification time, newest first, then by name.
pub(super) fn newest_first(paths: Vec<PathBuf>) -> Vec<PathBuf> {
    let mut dated: Vec<_> = paths
        .into_iter()
        .map(|path| {
            (
                path.symlink_metadata()
                    .and_then(|metadata| metadata.modified())
                    .ok(),
                path,
            )
        })
        .collect();
    dated.sort_by(|(one, a), (two, b)| two.cmp(one).then_with(|| a.cmp(b)));
    dated.into_iter().map(|(_, path)| path).collect()
}

#[cfg(test)]
mod tests {

    use swarm_protocol::MemberName;

    use super::*;
    use crate::Caller;

    #[test]
    fn globs_are_split_outside_braces() {
        assert_eq!(
            split_globs("*.rs, *.{ts,tsx} !x"),
            ["*.rs", "*.{ts,tsx}", "!x"]
        );
        assert!(split_globs(" , ").is_empty());
    }

    #[test]
    fn the_error_for_an_unknown_type_names_it() {
        assert!(Selection::default().with_type("rust").is_ok());
        assert!(
            Selection::default()
                .with_type("klingon")
                .unwrap_err()
                .contains("klingon")
        );
    }

    #[test]
    fn a_walk_stops_when_the_call_is_interrupted() {
        let scratch = tempfile::tempdir().unwrap();
        for name in ["a", "b", "c"] {
            std::fs::File::create(scratch.path().join(name)).unwrap();
        }
        let caller = Caller::new(MemberName::lead());
        let ctx = ToolContext::new(scratch.path().to_owned(), caller);
        let mut visited = 0;
        walk(scratch.path(), &Selection::default(), &ctx, |_| {
            visited += 1;
            ctx.cancel.cancel();
            true
        });
        assert_eq!(visited, 1);
    }
}
