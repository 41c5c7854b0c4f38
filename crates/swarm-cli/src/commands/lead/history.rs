//! What people typed to leads in a directory, for the arrow keys of later sessions.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// Bytes at the end of the file that are read.
const READ: u64 = 1024 * 1024;

/// Longest line that is kept on disk, in bytes. A long paste is no line to say again.
const LONGEST: usize = 16 * 1024;

/// One line that was typed.
#[derive(Debug, Serialize, Deserialize)]
struct Line {
    project: PathBuf,
    text: String,
}

/// The lines of one directory, in a file that all directories share.
#[derive(Debug, Clone)]
pub(super) struct InputHistory {
    file: PathBuf,
    project: PathBuf,
}

impl InputHistory {
    pub(super) fn new(root: &Path, project: &Path) -> Self {
        Self {
            file: root.join("swarm").join("input-history.jsonl"),
            project: project.to_owned(),
        }
    }

    /// The last lines, oldest first. What cannot be read is passed over.
    pub(super) fn lines(&self) -> Vec<String> {
        let bytes = swarm_os::read_ending(&self.file, READ).unwrap_or_default();
        let bytes = bytes.unwrap_or_default();
        let lines = bytes.split(|byte| *byte == b'\n');
        let lines = lines.filter_map(|line| serde_json::from_slice::<Line>(line).ok());
        let own = lines.filter(|line| line.project == self.project);
        own.map(|line| line.text).collect()
    }

    /// Adds a line. It is a convenience: nothing fails because of it.
    pub(super) fn add(&self, text: &str) {
        if text.len() > LONGEST {
            return;
        }
        if let Err(error) = self.append(text) {
            tracing::debug!(%error, "input history not written");
        }
    }

    fn append(&self, text: &str) -> anyhow::Result<()> {
        let line = Line {
            project: self.project.clone(),
            text: text.to_owned(),
        };
        let mut bytes = serde_json::to_vec(&line)?;
        bytes.push(b'\n');
        if let Some(directory) = self.file.parent() {
            swarm_os::ensure_private_dir(directory)?;
        }
        // One write, so that lines of two leads do not mix.
        swarm_os::open_for_appending(&self.file)?.write_all(&bytes)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_directory_has_its_own_lines_and_long_ones_are_not_kept() {
        let root = tempfile::tempdir().unwrap();
        let [here, there] =
            ["/here", "/there"].map(|project| InputHistory::new(root.path(), Path::new(project)));
        assert_eq!(here.lines(), [""; 0]);
        here.add("first\nof two");
        there.add("elsewhere");
        here.add(&"x".repeat(LONGEST + 1));
        here.add("second");
        assert_eq!(here.lines(), ["first\nof two", "second"]);
        assert_eq!(there.lines(), ["elsewhere"]);
    }
}
