//! Queries to git about the repository that a command affects.

use std::path::Path;
use std::process::{Command, Stdio};

use swarm_permissions::{GitFacts, GitPlace};
use swarm_protocol::word_list;

use crate::environment::raw_variable;

/// Returns a non-empty variable.
pub(super) fn text(name: &str) -> Option<String> {
    raw_variable(name)?
        .into_string()
        .ok()
        .filter(|text| !text.is_empty())
}

/// The real git, called with the global options of the command.
pub(super) struct Here<'a> {
    pub(super) program: &'a Path,
    pub(super) options: &'a [String],
}

impl Here<'_> {
    /// Returns git's answer to `question`.
    pub(super) fn ask<S: AsRef<std::ffi::OsStr>>(&self, question: &[S]) -> Option<String> {
        said(self.command().args(question))
    }

    fn command(&self) -> Command {
        let mut command = Command::new(self.program);
        command.args(self.options);
        command
    }
}

fn said(command: &mut Command) -> Option<String> {
    let output = command
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output()
        .ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim_end().to_owned())
}

impl GitFacts for Here<'_> {
    fn place(&self) -> GitPlace {
        let ask = const {
            word_list::<4>("rev-parse --path-format=absolute --git-common-dir --show-toplevel")
        };
        let Some(there) = self.ask(&ask) else {
            // Without a repository or a worktree, git itself reports the error.
            return GitPlace::Elsewhere;
        };
        let home = text("SWARM_WORKTREE").or_else(|| text("SWARM_CWD"));
        let Some(home) =
            home.and_then(|home| said(Command::new(self.program).arg("-C").arg(home).args(ask)))
        else {
            return GitPlace::SharedTree;
        };
        let common = |text: &str| text.lines().next().map(str::to_owned);
        if common(&there) != common(&home) {
            GitPlace::Elsewhere
        } else if text("SWARM_WORKTREE").is_some() && there == home {
            GitPlace::OwnTree
        } else {
            GitPlace::SharedTree
        }
    }

    fn is_commit(&self, word: &str) -> bool {
        let commit = format!("{word}^{{commit}}");
        self.ask(&["rev-parse", "--verify", "--quiet", &commit])
            .is_some()
    }

    fn is_path(&self, word: &str) -> bool {
        self.ask(&["ls-files", "--error-unmatch", "--", word])
            .is_some()
    }

    fn is_file(&self, word: &str) -> bool {
        let listed = self.ask(&["ls-files", "--", word]);
        listed.is_some_and(|listed| listed == word.trim_start_matches("./"))
    }

    fn has_changes(&self, paths: &[String]) -> bool {
        let mut command = self.command();
        command.args(["diff", "--quiet", "HEAD", "--"]).args(paths);
        let status = command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
        // Exit code 0 means that there are no changes.
        !status.is_ok_and(|status| status.success())
    }

    fn would_clean(&self, arguments: &[String]) -> bool {
        let mut question = vec!["clean".to_owned(), "--dry-run".to_owned()];
        question.extend_from_slice(arguments);
        // If the query fails, assume that files are affected.
        self.ask(&question).is_none_or(|would| !would.is_empty())
    }

    fn sandboxed(&self) -> bool {
        text("SWARM_SANDBOX").is_some()
    }

    fn alias(&self, word: &str) -> Option<String> {
        self.ask(&["config", "--get", &format!("alias.{word}")])
    }
}
