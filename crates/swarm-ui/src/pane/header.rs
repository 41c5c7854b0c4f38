//! The first line of a pane.

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
    /// Its working folder.
    pub cwd: PathBuf,
    /// The user's home folder, which is shown as `~`.
    pub home: Option<PathBuf>,
}

impl PaneHeader {
    /// The line, without its end; two lines where one has not the room.
    pub(super) fn line(&self, theme: Theme) -> String {
        let signs = theme.signs();
        let mut facts: Vec<String> = self.team.iter().map(TeamName::to_string).collect();
        facts.extend([
            clean_line(&self.model),
            self.mode.to_string(),
            clean_line(&short_path(&self.cwd, self.home.as_deref(), signs.ellipsis)),
        ]);
        let facts = facts.join(&format!(" {} ", signs.dot));
        let name = if theme.color {
            format!(" {} ", self.name)
        } else {
            format!("[{}]", self.name)
        };
        let badge = paint(theme, Style::Badge(self.color), &name);
        let fits = |width: usize| columns(&name) + 1 + columns(&facts) <= width;
        if theme.width.is_none_or(fits) {
            return format!("{badge} {}", paint(theme, Style::Dim, &facts));
        }
        let room = theme
            .width
            .map_or(usize::MAX, |width| width.saturating_sub(1));
        let facts = fit(&facts, room, signs.ellipsis);
        format!("{badge}\n {}", paint(theme, Style::Dim, &facts))
    }
}

/// Folders that a shortened path still names.
const KEPT_FOLDERS: usize = 2;

/// A path for people: the home folder as `~`, and of a deep one only the end.
fn short_path(path: &Path, home: Option<&Path>, ellipsis: &str) -> String {
    let below_home = home.and_then(|home| path.strip_prefix(home).ok());
    let (start, rest) = match below_home {
        Some(rest) => ("~", rest),
        None => ("", path.strip_prefix("/").unwrap_or(path)),
    };
    let folders: Vec<_> = rest.iter().map(|part| part.to_string_lossy()).collect();
    let kept = &folders[folders.len().saturating_sub(KEPT_FOLDERS)..];
    let mut shown = start.to_owned();
    if kept.len() < folders.len() {
        shown.push('/');
        shown.push_str(ellipsis);
    }
    for folder in kept {
        shown.push('/');
        shown.push_str(folder);
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
    fn a_folder_is_shown_short_but_recognizable() {
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
