//! swarm's documentation, for the agent type that explains the program.

use std::path::{Path, PathBuf};

use swarm_os::{OsError, ensure_private_dir, read_optional, replace_alone};
use swarm_permissions::{AgentDefinition, AgentSource};

/// The built-in agent type that reads the documentation.
const READER: &str = "claude-code-guide";

/// The documentation that is part of the program. Agents read it from files, which are written when
/// the first agent needs them.
#[derive(Debug, Clone, Copy, Default)]
pub struct ProgramDocs {
    /// Version of the program; part of the directory's name.
    pub version: &'static str,
    /// Pages of the documentation.
    pub pages: &'static [ProgramPage],
}

/// A page of the documentation.
#[derive(Debug, Clone, Copy)]
pub struct ProgramPage {
    /// File name in the documentation directory.
    pub name: &'static str,
    /// Summary in a few words.
    pub about: &'static str,
    /// Content of the file.
    pub text: &'static str,
}

impl ProgramDocs {
    /// Returns the prompt block of the agent that explains the program; `None` for other agents.
    /// Reading the pages needs no rule, because reads are allowed by default.
    pub(crate) fn for_agent(&self, definition: &AgentDefinition, root: &Path) -> Option<String> {
        let explains = definition.name == READER && definition.source == AgentSource::BuiltIn;
        if !explains || self.pages.is_empty() {
            return None;
        }
        match self.write_pages(root) {
            Ok(directory) => Some(self.list(&directory)),
            Err(error) => {
                tracing::warn!(%error, "the documentation was not written");
                None
            }
        }
    }

    /// Writes the pages that are missing or differ, and returns their directory.
    fn write_pages(&self, root: &Path) -> Result<PathBuf, OsError> {
        let directory = root.join("swarm").join(format!("docs-{}", self.version));
        ensure_private_dir(&directory)?;
        for page in self.pages {
            let path = directory.join(page.name);
            let known = read_optional(&path).ok().flatten();
            if known.as_deref() != Some(page.text.as_bytes()) {
                replace_alone(&path, page.text.as_bytes())?;
            }
        }
        Ok(directory)
    }

    fn list(&self, directory: &Path) -> String {
        let pages = self.pages.iter();
        let pages = pages.map(|page| format!("\n- {}: {}", page.name, page.about));
        format!(
            "# Documentation\n\nThe documentation of swarm {} is in {}. Read it there:\n{}",
            self.version,
            directory.display(),
            pages.collect::<Vec<_>>().concat()
        )
    }
}
