//! Input history of leads, shared by the sessions in a directory, and of teammates.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

const FILE: &str = "input-history.jsonl";

/// Number of bytes read from the end of the file.
const READ: u64 = 1024 * 1024;

/// Maximum length of a saved line in bytes. Long pastes are not worth recalling.
const LONGEST: usize = 16 * 1024;

#[derive(Debug, Serialize, Deserialize)]
struct Line {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    project: Option<PathBuf>,
    text: String,
}

/// The lines typed to leads in one directory, in a file that all directories share, or those typed
/// to a teammate.
#[derive(Debug, Clone)]
pub(crate) struct InputHistory {
    file: PathBuf,
    /// Directory of a lead.
    project: Option<PathBuf>,
}

impl InputHistory {
    pub(super) fn new(root: &Path, project: &Path) -> Self {
        Self {
            file: root.join("swarm").join(FILE),
            project: Some(project.to_owned()),
        }
    }

    /// Returns the history of a teammate, in its member directory.
    pub(crate) fn of_member(directory: &Path) -> Self {
        Self {
            file: directory.join(FILE),
            project: None,
        }
    }

    /// Returns the last lines, oldest first. Skips lines that cannot be read.
    pub(crate) fn lines(&self) -> Vec<String> {
        let bytes = swarm_os::read_ending(&self.file, READ).unwrap_or_default();
        let bytes = bytes.unwrap_or_default();
        let lines = bytes.split(|byte| *byte == b'\n');
        let lines = lines.filter_map(|line| serde_json::from_slice::<Line>(line).ok());
        let own = lines.filter(|line| line.project == self.project);
        own.map(|line| line.text).collect()
    }

    /// Appends a line. Errors are only logged.
    pub(crate) fn add(&self, text: &str) {
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
        // A single write, so that lines of concurrent leads do not interleave.
        swarm_os::open_for_appending(&self.file)?.write_all(&bytes)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn history_is_kept_per_directory_without_long_lines() {
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

    #[test]
    fn a_member_has_a_history_of_its_own() {
        let root = tempfile::tempdir().unwrap();
        let [alice, bob] = ["alice", "bob"].map(|name| root.path().join(name));
        InputHistory::of_member(&alice).add("to alice");
        InputHistory::of_member(&bob).add("to bob");
        assert_eq!(InputHistory::of_member(&bob).lines(), ["to bob"]);
        let written = std::fs::read_to_string(bob.join(FILE)).unwrap();
        assert_eq!(written, "{\"text\":\"to bob\"}\n");
    }
}
