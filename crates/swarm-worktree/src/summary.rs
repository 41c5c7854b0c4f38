//! The state of a checkout, for the system prompt of an agent.

use std::path::{Path, PathBuf};

use crate::heads::{main_branch, seen};
use crate::repository::Repository;
use crate::view::Checkout;
use crate::{Result, Worktrees};

/// Maximum number of commits, as an option of `git log`.
const COMMITS: &str = "-5";

/// Maximum number of changed paths.
const CHANGES: usize = 20;

/// Maximum number of characters in a line.
const LINE: usize = 120;

/// The state of a checkout at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GitSummary {
    /// Top-level directory of the checkout.
    pub toplevel: PathBuf,
    /// The main branch; `None` if neither a remote names one nor a branch `main` or `master`
    /// exists.
    pub main_branch: Option<String>,
    /// Lines of `git status --short`, at most 20, and a last line with the number of further ones.
    /// `None` if git failed.
    pub status: Option<Vec<String>>,
    /// Abbreviated ids and subjects of the last five commits, newest first.
    pub commits: Vec<String>,
}

impl Worktrees {
    /// Returns the state of the checkout that contains a directory, or `None` if there is none.
    pub fn summary(&self, directory: &Path) -> Option<GitSummary> {
        let seen = seen(directory)?;
        let mut summary = GitSummary {
            main_branch: main_branch(&seen.common_dir),
            toplevel: seen.toplevel,
            status: None,
            commits: Vec::new(),
        };
        if let Err(error) = self.ask(directory, &mut summary) {
            tracing::info!(directory = %directory.display(), %error, "could not read the status of the checkout");
        }
        Some(summary)
    }

    fn ask(&self, directory: &Path, summary: &mut GitSummary) -> Result<()> {
        let repository = Repository::find(self.git(), self.registry(), directory)?;
        let checkout = Checkout::at(&repository, &repository.top)?;
        let git = checkout.git();
        let status = git.run(&["status", "--porcelain=v1", checkout.submodules()])?;
        summary.status = Some(capped(&status));
        // A repository without a commit has no log.
        if let (Some(0), log, _) = git.status(&["log", COMMITS, "--format=%h %s"])? {
            summary.commits = lines(&log).collect();
        }
        Ok(())
    }
}

fn capped(output: &[u8]) -> Vec<String> {
    let mut all: Vec<String> = lines(output).collect();
    let more = all.len().saturating_sub(CHANGES);
    if more > 0 {
        all.truncate(CHANGES);
        all.push(format!("and {more} more"));
    }
    all
}

/// Returns the lines of an output without control characters, cut to [`LINE`] characters.
fn lines(output: &[u8]) -> impl Iterator<Item = String> {
    let text = String::from_utf8_lossy(output).into_owned();
    let lines: Vec<String> = text
        .lines()
        .map(|line| {
            let printable = line.chars().filter(|char| !char.is_control());
            let mut line: String = printable.take(LINE + 1).collect();
            if line.chars().count() > LINE {
                line.pop();
                line.push('…');
            }
            line
        })
        .collect();
    lines.into_iter()
}
