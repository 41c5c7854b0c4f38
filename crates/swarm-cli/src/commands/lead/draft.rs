//! The unsent input line of a session, kept for the next session in the same directory.

use std::io;
use std::path::{Path, PathBuf};

#[derive(Debug, Clone)]
pub(super) struct Draft {
    file: PathBuf,
}

impl Draft {
    /// Opens the draft of the directory `project` in the config directory `root`.
    pub(super) fn new(root: &Path, project: &Path) -> Self {
        let name: String = project
            .to_string_lossy()
            .chars()
            .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
            .collect();
        let file = root
            .join("swarm")
            .join("drafts")
            .join(format!("{name}.txt"));
        Self { file }
    }

    pub(super) fn read(&self) -> Option<String> {
        let text = std::fs::read_to_string(&self.file).ok()?;
        (!text.is_empty()).then_some(text)
    }

    /// Saves a text; an empty text removes the draft. Errors are only logged.
    pub(super) fn keep(&self, text: &str) {
        let kept = if text.is_empty() {
            swarm_os::remove_if_present(&self.file)
        } else {
            self.write(text).map(drop).map_err(io::Error::other)
        };
        if let Err(error) = kept {
            tracing::debug!(%error, "draft not kept");
        }
    }

    /// Writes a text to a private file and returns the file.
    pub(super) fn write(&self, text: &str) -> anyhow::Result<&Path> {
        swarm_os::replace_in_private_dir(&self.file, text.as_bytes())?;
        Ok(&self.file)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draft_is_kept_per_directory_until_it_is_sent() {
        let root = tempfile::tempdir().unwrap();
        let [here, there] =
            ["/here", "/there"].map(|path| Draft::new(root.path(), Path::new(path)));
        here.keep("half a\nprompt");
        assert_eq!(here.read().as_deref(), Some("half a\nprompt"));
        assert_eq!(there.read(), None);
        here.keep("");
        assert_eq!(here.read(), None);
    }
}
