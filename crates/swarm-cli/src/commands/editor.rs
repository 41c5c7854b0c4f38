//! Editing of texts in the person's editor.

use std::io::{self, IsTerminal as _};
use std::path::Path;
use std::process::Command;

use swarm_config::Environment;

use crate::app::App;
use crate::failure::{Failure, Result};

pub(super) struct EditorDraft<'a> {
    /// File name, whose end tells the editor the format.
    pub(super) name: &'a str,
    /// The text before the edit.
    pub(super) text: &'a str,
    /// What to do without an editor.
    pub(super) without: &'a str,
    /// What did not happen after a failure.
    pub(super) undone: &'a str,
}

impl EditorDraft<'_> {
    /// Opens the text in the person's editor and returns the result.
    pub(super) fn edit(&self, app: &App) -> Result<String> {
        let directory = app.root.join("swarm");
        let path = directory.join(format!("{}-{}", std::process::id(), self.name));
        swarm_os::replace_in_private_dir(&path, self.text.as_bytes())
            .map_err(anyhow::Error::from)?;
        let ended = edit_file(&app.env, &path);
        let left = swarm_os::read_optional(&path);
        std::fs::remove_file(&path)?;
        ended.map_err(|failure| Failure {
            message: format!("{}: {}", failure.message, self.undone),
            hint: failure
                .hint
                .map(|hint| format!("{hint}, or {}", self.without)),
            ..failure
        })?;
        let left = left.map_err(anyhow::Error::from)?.unwrap_or_default();
        String::from_utf8(left).map_err(|_| Failure::usage("the edited text is not UTF-8"))
    }
}

/// Opens a file in the person's editor and waits until it is closed: `VISUAL`, `EDITOR`, or `vi` in
/// a terminal. Fails if the editor fails, or if none is set outside a terminal.
pub(super) fn edit_file(env: &Environment, file: &Path) -> Result<()> {
    let mut named = ["VISUAL", "EDITOR"]
        .into_iter()
        .filter_map(|name| env.get(name));
    let editor = match named.find(|editor| !editor.trim().is_empty()) {
        Some(editor) => editor,
        None if io::stdin().is_terminal() => "vi",
        None => return Err(Failure::usage("no editor is set").with_hint("set EDITOR")),
    };
    // A shell runs it, as in git, because it may contain arguments: `code --wait`.
    let status = Command::new("sh")
        .arg("-c")
        .arg(format!("{editor} \"$1\""))
        .arg("sh")
        .arg(file)
        .status()?;
    if status.success() {
        return Ok(());
    }
    Err(Failure::usage(format!(
        "the editor `{editor}` failed ({status})"
    )))
}
