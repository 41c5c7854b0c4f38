//! The first line of a pane.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use swarm_protocol::{Color, MemberName, PermissionMode, TeamName};

use crate::print::filled;
use crate::sanitize::clean_line;
use crate::signs::DOT;
use crate::style::{Style, paint};
use crate::theme::Theme;
use crate::width::{columns, fit};

/// The owner of the pane and the settings in force.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PaneHeader {
    /// Name of the member.
    pub name: MemberName,
    /// Name of its team; a lead may not have one yet.
    pub team: Option<TeamName>,
    /// Colour of the member.
    pub color: Option<Color>,
    /// Model as `provider/model`.
    pub model: String,
    /// Permission mode.
    pub mode: PermissionMode,
    /// Working directory.
    pub cwd: PathBuf,
    /// The user's home directory, displayed as `~`.
    pub home: Option<PathBuf>,
}

impl PaneHeader {
    /// Returns the header line without a line break, and further lines if it does not fit.
    pub(super) fn line(&self, theme: Theme) -> String {
        let model = clean_line(&short_model(&self.model));
        let cwd = clean_line(&short_path(&self.cwd, self.home.as_deref()));
        let team = self.team.as_ref().map(TeamName::as_str);
        let facts = team.into_iter().chain([&*model, self.mode.name(), &*cwd]);
        let facts: Vec<&str> = facts.collect();
        let name = fit(self.name.as_str(), theme.room(2));
        let name = if theme.color {
            format!(" {name} ")
        } else {
            format!("[{name}]")
        };
        let badge = paint(theme, Style::Badge(self.color), &name);
        let one_line = facts.join(DOT);
        if columns(&one_line) <= theme.room(columns(&name) + 1) {
            return format!("{badge} {}", paint(theme, Style::Dim, &one_line));
        }
        let mut lines = vec![badge];
        for line in filled(&facts, DOT, "", theme.room(1)) {
            let line = fit(&line, theme.room(1));
            lines.push(format!(" {}", paint(theme, Style::Dim, &line)));
        }
        lines.join("\n")
    }
}

/// Name of the provider whose models replay a file.
const SCRIPTED: &str = "scripted";

/// Shortens a model name: without its provider, and a scripted one to its file name.
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

/// Number of directories that remain in a shortened path.
const KEPT_DIRECTORIES: usize = 2;

/// Shortens a path: the home directory becomes `~`, and of a long path only the end remains.
fn short_path(path: &Path, home: Option<&Path>) -> String {
    let below_home = home.and_then(|home| path.strip_prefix(home).ok());
    let (start, rest) = match below_home {
        Some(rest) => ("~", rest),
        None => ("", path.strip_prefix("/").unwrap_or(path)),
    };
    let directories: Vec<_> = rest.iter().map(|part| part.to_string_lossy()).collect();
    let kept = &directories[directories.len().saturating_sub(KEPT_DIRECTORIES)..];
    let mut shown = start.to_owned();
    if kept.len() < directories.len() {
        shown.push_str("/…");
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
    fn a_model_is_shown_without_its_provider() {
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
            assert_eq!(short_path(Path::new(path), home), shown, "{path}");
        }
    }
}
