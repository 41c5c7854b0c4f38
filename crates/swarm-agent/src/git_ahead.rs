//! What is certain about the git calls of a command before it runs.

use std::path::Path;

use swarm_permissions::{FileFacts as _, GitFacts, GitLine, GitPlace, git_calls, git_refusal};
use swarm_protocol::LEAD_NAME;
use swarm_tools::ToolContext;

use crate::context_files::ContextFiles;

/// Returns why the agent's `git` will refuse a call of a command that starts in `directory`. Only
/// refusals that git need not be asked about are known: outside the sandbox, a question to git
/// could run programs that the agent chose.
pub(crate) fn refused_by_git(
    command: &str,
    directory: &Path,
    context: &ToolContext,
) -> Option<String> {
    let calls = git_calls(command);
    let name = context.env.get("SWARM_NAME")?;
    // A lead in the person's checkout is not restricted.
    let is_restricted = name != LEAD_NAME || context.confine.is_some();
    if calls.is_empty() || !is_restricted || !context.checkout.is_repository() {
        return None;
    }
    // A doubt may be that it is another repository.
    if ContextFiles(context).git_doubt(directory).is_some() {
        return None;
    }
    let facts = KnownGit { context, directory };
    let is_here =
        |call: &&Vec<String>| GitLine::of(call).is_some_and(|line| line.options.is_empty());
    let mut calls = calls.iter().filter(is_here);
    calls.find_map(|call| git_refusal(call, &facts))
}

/// Answers that refuse nothing unless it is certain.
struct KnownGit<'a> {
    context: &'a ToolContext,
    directory: &'a Path,
}

impl GitFacts for KnownGit<'_> {
    fn place(&self) -> GitPlace {
        match &self.context.confine {
            Some(confine) if self.directory.starts_with(confine.root()) => GitPlace::OwnTree,
            _ => GitPlace::SharedTree,
        }
    }

    fn is_commit(&self, _word: &str) -> bool {
        false
    }

    fn is_path(&self, _word: &str) -> bool {
        true
    }

    fn is_file(&self, _word: &str) -> bool {
        true
    }

    fn has_changes(&self, _paths: &[String]) -> bool {
        false
    }

    fn would_clean(&self, _arguments: &[String]) -> bool {
        false
    }

    fn sandboxed(&self) -> bool {
        let has_worktree = self.context.confine.is_some();
        self.context.guards.backend_for(has_worktree).is_some()
    }

    fn alias(&self, _word: &str) -> Option<String> {
        None
    }
}
