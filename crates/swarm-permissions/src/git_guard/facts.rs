//! What the guard must know about the repository in which a command would act.

/// The location that a git command affects, relative to the member's work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GitPlace {
    /// The member's own worktree.
    OwnTree,
    /// A shared checkout: the main one or another member's.
    SharedTree,
    /// A repository unrelated to the team.
    Elsewhere,
}

/// The facts needed to judge a git command.
pub trait GitFacts {
    /// Returns the affected location.
    fn place(&self) -> GitPlace;
    /// Returns whether a word names a commit in it.
    fn is_commit(&self, word: &str) -> bool;
    /// Returns whether a word names a path in it.
    fn is_path(&self, word: &str) -> bool;
    /// Returns whether a word names a single tracked file, as opposed to a directory or pattern.
    fn is_file(&self, word: &str) -> bool;
    /// Returns whether tracked files below these paths have uncommitted changes; an empty list
    /// means all.
    fn has_changes(&self, paths: &[String]) -> bool;
    /// Returns whether `git clean` with these arguments would remove anything. The arguments
    /// contain no quiet, interactive or dry-run option.
    fn would_clean(&self, arguments: &[String]) -> bool;
    /// Returns whether the command runs in the agent's sandbox.
    fn sandboxed(&self) -> bool;
    /// Returns the expansion of an alias.
    fn alias(&self, word: &str) -> Option<String>;
}
