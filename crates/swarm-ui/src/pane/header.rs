//! The first line of a pane.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use swarm_protocol::{Color, MemberName, PermissionMode, TeamName};

use crate::sanitize::clean_line;
use crate::style::{Style, paint};
use crate::theme::Theme;
use crate::width::{columns, fit};

/// Whose pane it is, and the values in force.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PaneHeader {
    /// The member.
    pub name: MemberName,
    /// Its team; a lead may have none yet.
    pub team: Option<TeamName>,
    /// Its colour.
    pub color: Option<Color>,
    /// Its model, as `provider/model`.
    pub model: String,
    /// Its permission mode.
    pub mode: PermissionMode,
    /// Its working directory.
    pub cwd: PathBuf,
    /// The user's home directory, which is shown as `~`.
    pub home: Option<PathBuf>,
}

impl PaneHeader {
    /// The line, without its end; further lines with what it has no room for.
    pub(super) fn line(&self, theme: Theme) -> String {
        let signs = theme.signs();
        let mut facts: Vec<String> = self.team.iter().map(TeamName::to_string).collect();
        facts.extend([
            clean_line(&short_model(&self.model)),
            self.mode.to_string(),
            clean_line(&short_path(&self.cwd, self.home.as_deref(), signs.ellipsis)),
        ]);
        let name = fit(self.name.as_str(), theme.room(2), signs.ellipsis);
        let name = if theme.color {
            format!(" {name} ")
        } else {
            format!("[{name}]")
        };
        let badge = paint(theme, Style::Badge(self.color), &name);
        let joint = format!(" {} ", signs.dot);
        let one_line = facts.join(&joint);
        if columns(&one_line) <= theme.room(columns(&name) + 1) {
            return format!("{badge} {}", paint(theme, Style::Dim, &one_line));
        }
        let mut lines = vec![badge];
        for line in fill(&facts, &joint, theme.room(1)) {
            let line = fit(&line, theme.room(1), signs.ellipsis);
            lines.push(format!(" {}", paint(theme, Style::Dim, &line)));
        }
        lines.join("\n")
    }
}

/// Joins what fits into lines of `room` columns.
fn fill(facts: &[String], joint: &str, room: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for fact in facts {
        match lines.last_mut() {
            Some(line) if columns(line) + columns(joint) + columns(fact) <= room => {
                line.push_str(joint);
                line.push_str(fact);
            }
            _ => lines.push(fact.clone()),
        }
    }
    lines
}

/// How the provider of models that play a file is called.
const SCRIPTED: &str = "scripted";

/// A model for people: without its provider, and a scripted one by the name of its file alone.
fn short_model(model: &str) -> Cow<'_, str> {
    match model.split_once('/') {
        Some((SCRIPTED, path)) => {
            let name = Path::new(path).file_stem().unwrap_or_default();
            Cow::Owned(format!("{SCRIPTED}/{}", name.to_string_lossy()))
        }
        Some((_, name)) if !name.is_empty() => Cow::Borrowed(name),
        _ => Cow::Borrowed(model),
    }
}

/// Directories that a shortened path still names.
const KEPT_DIRECTORIES: usize = 2;

/// A path for people: the home directory as `~`, and of a deep one only the end.
fn short_path(path: &Path, home: Option<&Path>, ellipsis: &str) -> String {
    let below_home = home.and_then(|home| path.strip_prefix(home).ok());
    let (start, rest) = match below_home {
        Some(rest) => ("~", rest),
        None => ("", path.strip_prefix("/").unwrap_or(path)),
    };
    let directories: Vec<_> = rest.iter().map(|part| part.to_string_lossy()).collect();
    let kept = &directories[directories.len().saturating_sub(KEPT_DIRECTORIES)..];
    let mut shown = start.to_owned();
    if kept.len() < directories.len() {
        shown.push('/');
        shown.push_str(ellipsis);
    }
    for directory in kept {
        shown.push('/');
        shown.push_str(directory);
    }
    if shown.is_empty() {
        "/".to_owned()
    } else {
        shown
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_is_shown_by_its_own_name() {
        for (model, shown) in [
            ("scripted//srv/play/scenario.toml", "scripted/scenario"),
            ("scripted/demo", "scripted/demo"),
            ("anthropic/claude-sonnet-4-6", "claude-sonnet-4-6"),
            ("openai/gpt-oss:20b", "gpt-oss:20b"),
            ("router/maker/model", "maker/model"),
            ("claude-opus-4-1", "claude-opus-4-1"),
            ("odd/", "odd/"),
        ] {
            assert_eq!(short_model(model), shown);
        }
    }

    #[test]
    fn a_directory_is_shown_short_but_recognizable() {
        let home = Some(Path::new("/home/dev"));
        for (path, shown) in [
            ("/home/dev", "~"),
            ("/home/dev/calc", "~/calc"),
            ("/home/dev/a/b/c", "~/…/b/c"),
            ("/home/developer/x", "/…/developer/x"),
            ("/srv/repo", "/srv/repo"),
            ("/", "/"),
        ] {
            assert_eq!(short_path(Path::new(path), home, "…"), shown, "{path}");
        }
        assert_eq!(short_path(Path::new("/a/b/c"), None, "..."), "/.../b/c");
    }
}
