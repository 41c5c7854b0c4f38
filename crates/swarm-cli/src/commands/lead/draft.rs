//! What stands in the input line when a session ends, for the next one in the same directory.

use std::io;
use std::path::{Path, PathBuf};

/// The draft of a directory.
#[derive(Debug, Clone)]
pub(super) struct Draft {
    file: PathBuf,
}

impl Draft {
    /// The draft of the directory `project`, in the config directory `root`.
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

    /// The text that was kept.
    pub(super) fn read(&self) -> Option<String> {
        let text = std::fs::read_to_string(&self.file).ok()?;
        (!text.is_empty()).then_some(text)
    }

    /// Keeps a text; an empty one removes what is there. It is a convenience: nothing fails because of it.
    pub(super) fn keep(&self, text: &str) {
        let kept = if text.is_empty() {
            match std::fs::remove_file(&self.file) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
                _ => Ok(()),
            }
        } else {
            self.write(text).map(drop).map_err(io::Error::other)
        };
        if let Err(error) = kept {
            tracing::debug!(%error, "draft not kept");
        }
    }

    /// Writes a text and returns the file, which nobody else can read.
    pub(super) fn write(&self, text: &str) -> anyhow::Result<&Path> {
        if let Some(directory) = self.file.parent() {
            swarm_os::ensure_private_dir(directory)?;
        }
        swarm_os::replace_alone(&self.file, text.as_bytes())?;
        Ok(&self.file)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_draft_is_kept_for_its_directory_until_it_is_said() {
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
