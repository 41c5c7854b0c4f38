//! The Glob tool.

use std::path::{Component, Path, PathBuf};

use async_trait::async_trait;
use globset::{GlobBuilder, GlobMatcher};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use swarm_protocol::ToolKind;

use super::walk::{Selection, newest_first, search_line, walk};
use crate::files::Target;
use crate::one_line::counted;
use crate::{ToolContext, ToolOutput, TypedTool, blocking, prompt};

/// Finds files by name.
#[derive(Debug, Clone, Copy, Default)]
pub struct Glob;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Parameters {
    /// The pattern that paths must match
    pattern: String,
    /// The directory to search [default: the working directory]
    path: Option<String>,
}

#[async_trait]
impl TypedTool for Glob {
    type Parameters = Parameters;
    const NAME: &'static str = "Glob";
    const PROMPT: &'static str = prompt!("tools/Glob");
    const KIND: ToolKind = ToolKind::Read;
    const READ_ONLY: bool = true;

    fn one_line(&self, input: &Value) -> String {
        search_line(Self::NAME, input)
    }

    fn touches(&self, input: &Value, cwd: &Path) -> Vec<PathBuf> {
        let pattern = input["pattern"].as_str().unwrap_or_default();
        let (base, _) = split(pattern, input["path"].as_str());
        Target::new(&base, cwd)
            .map(|target| target.real)
            .into_iter()
            .collect()
    }

    async fn call(&self, input: Parameters, ctx: &ToolContext) -> Result<ToolOutput, String> {
        blocking::run(ctx, move |ctx| glob(&input, ctx)).await
    }
}

fn glob(input: &Parameters, ctx: &ToolContext) -> Result<ToolOutput, String> {
    let (base, pattern) = split(&input.pattern, input.path.as_deref());
    let target = Target::to_read(&base, ctx)?;
    if !target.real.is_dir() {
        return Err(format!("{} is not a directory.", target.given.display()));
    }
    let matcher = matcher(&pattern)?;
    let search = |everything| {
        let selection = Selection {
            everything,
            ..Selection::default()
        };
        let mut found = Vec::new();
        walk(&target.real, &selection, ctx, |path| {
            if path
                .strip_prefix(&target.real)
                .is_ok_and(|rest| matcher.is_match(rest))
            {
                found.push(path.to_owned());
            }
            true
        });
        found
    };
    let mut found = search(false);
    let ignored = found.is_empty();
    if ignored {
        found = search(true);
    }
    if ctx.cancel.is_cancelled() {
        return Err("The search was interrupted.".into());
    }
    Ok(output(found, ignored, &target, ctx))
}

fn output(found: Vec<PathBuf>, ignored: bool, target: &Target, ctx: &ToolContext) -> ToolOutput {
    let total = found.len();
    if total == 0 {
        let none = json!({"filenames": [], "numFiles": 0, "truncated": false});
        return ToolOutput::ok("No file matches.", "0 files").with_response(none);
    }
    let mut lines: Vec<String> = newest_first(found)
        .iter()
        .take(ctx.limits.glob_paths)
        .map(|path| match path.strip_prefix(&target.real) {
            Ok(rest) => target.given.join(rest).display().to_string(),
            Err(_) => path.display().to_string(),
        })
        .collect();
    let response = json!({
        "filenames": lines,
        "numFiles": lines.len(),
        "truncated": lines.len() < total,
    });
    if lines.len() < total {
        lines.push(format!(
            "[the newest {} of {total}; narrow the pattern or the path]",
            lines.len()
        ));
    }
    if ignored {
        lines.push("[only files ignored by git match]".into());
    }
    ToolOutput::ok(lines.join("\n"), counted(total, "file")).with_response(response)
}

fn matcher(pattern: &str) -> Result<GlobMatcher, String> {
    let error = |why: String| format!("`{pattern}` is not a valid pattern: {why}.");
    if pattern.split('/').any(|part| part == "..") {
        return Err(error(
            "`..` is allowed only before the first wildcard".into(),
        ));
    }
    let anywhere = if pattern.contains('/') {
        pattern.to_owned()
    } else {
        format!("**/{pattern}")
    };
    GlobBuilder::new(&anywhere)
        .literal_separator(true)
        .build()
        .map(|glob| glob.compile_matcher())
        .map_err(|problem| error(problem.kind().to_string()))
}

/// Splits a search into directory and pattern. If the pattern is absolute or starts with `..`, its
/// components before the first wildcard belong to the directory.
fn split(pattern: &str, path: Option<&str>) -> (String, String) {
    let base = path.unwrap_or(".");
    let pattern = pattern.strip_prefix("./").unwrap_or(pattern);
    if !pattern.starts_with('/') && !pattern.starts_with("..") {
        return (base.to_owned(), pattern.to_owned());
    }
    let mut directory = PathBuf::from(base);
    let mut rest = Path::new(pattern).components().peekable();
    while let Some(component) = rest.next_if(|component| !has_wildcard(component)) {
        if rest.peek().is_none() {
            return (
                directory.display().to_string(),
                component.as_os_str().to_string_lossy().into_owned(),
            );
        }
        directory.push(component);
    }
    let rest: PathBuf = rest.collect();
    (directory.display().to_string(), rest.display().to_string())
}

fn has_wildcard(component: &Component<'_>) -> bool {
    component
        .as_os_str()
        .to_string_lossy()
        .contains(['*', '?', '[', '{'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn components_before_the_first_wildcard_belong_to_the_directory() {
        for (pattern, path, base, rest) in [
            ("**/*.rs", None, ".", "**/*.rs"),
            ("./src/*.rs", Some("/w"), "/w", "src/*.rs"),
            ("/etc/**/*.conf", Some("/w"), "/etc", "**/*.conf"),
            ("/etc/passwd", None, "/etc", "passwd"),
            ("../lib/*.rs", Some("/w"), "/w/../lib", "*.rs"),
        ] {
            assert_eq!(
                split(pattern, path),
                (base.to_owned(), rest.to_owned()),
                "{pattern}"
            );
        }
        assert!(matcher("a/../b").is_err() && matcher("a[").is_err());
    }
}
