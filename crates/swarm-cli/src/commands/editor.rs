//! Editing of texts in the person's editor.

use std::process::Command;

use crate::app::App;
use crate::failure::Failure;

/// A text to edit.
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
    pub(super) fn edit(&self, app: &App) -> Result<String, Failure> {
        let named = ["VISUAL", "EDITOR"]
            .into_iter()
            .find_map(|name| app.env.get(name));
        let words = named
            .and_then(shlex::split)
            .filter(|words| !words.is_empty());
        let Some((program, arguments)) = words.as_deref().and_then(<[String]>::split_first) else {
            let hint = format!("set EDITOR, or {}", self.without);
            return Err(Failure::usage("no editor is set").with_hint(hint));
        };
        let directory = app.root.join("swarm");
        swarm_os::ensure_private_dir(&directory).map_err(anyhow::Error::from)?;
        let path = directory.join(format!("{}-{}", std::process::id(), self.name));
        swarm_os::replace_alone(&path, self.text.as_bytes()).map_err(anyhow::Error::from)?;
        let ended = Command::new(program).args(arguments).arg(&path).status();
        let left = swarm_os::read_optional(&path);
        std::fs::remove_file(&path)?;
        let undone = self.undone;
        match ended {
            Ok(status) if status.success() => {}
            Ok(status) => {
                return Err(Failure::usage(format!(
                    "the editor `{program}` failed ({status}): {undone}"
                )));
            }
            Err(error) => {
                return Err(Failure::usage(format!(
                    "the editor `{program}` cannot be run: {error}"
                )));
            }
        }
        let left = left.map_err(anyhow::Error::from)?.unwrap_or_default();
        String::from_utf8(left).map_err(|_| Failure::usage("the edited text is not UTF-8"))
    }
}
