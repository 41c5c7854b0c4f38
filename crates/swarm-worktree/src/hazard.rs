//! Reasons against removing a worktree.

use std::fmt;

/// Something that a removal would lose or break.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Hazard {
    /// Tracked files have changes.
    Dirty(Vec<String>),
    /// There are untracked files.
    Untracked(Vec<String>),
    /// Ignored files that `.worktreeinclude` lists differ from the originals.
    ListedWorktree(Vec<String>),
    /// On a node, there are ignored files that swarm did not copy.
    Ignored(Vec<String>),
    /// Number of stashes that were created on its branch.
    Stashed(usize),
    /// Number of commits that are neither on another branch nor pushed.
    Unmerged(u64),
    /// HEAD is detached.
    Detached,
    /// Another branch is checked out.
    OtherBranch(String),
    /// It was locked with `git worktree lock`, for this reason.
    Locked(String),
    /// It is in use, by this description.
    InUse(String),
    /// A merge, rebase or similar operation is in progress.
    UnderWay(&'static str),
    /// It has refs that exist only in this worktree.
    OwnRefs(Vec<String>),
    /// It contains nested repositories.
    Repositories(Vec<String>),
    /// It was created by a hook, so its contents are unknown.
    MadeByHook,
    /// It does not match its record, so git is not run in it.
    NotAsMade(String),
    /// Its state is unknown.
    Unknown(String),
}

impl Hazard {
    /// Returns whether a rescue saves what would be lost.
    pub fn can_be_rescued(&self) -> bool {
        !matches!(
            self,
            Self::InUse(_)
                | Self::Ignored(_)
                | Self::Repositories(_)
                | Self::OwnRefs(_)
                | Self::MadeByHook
                | Self::NotAsMade(_)
                | Self::Unknown(_)
        )
    }

    /// Returns whether these reasons may pass without a change of the worktree's work.
    pub fn may_pass(all: &[Self]) -> bool {
        let may_pass = |hazard: &Self| matches!(hazard, Self::InUse(_) | Self::Unknown(_));
        all.iter().all(may_pass)
    }

    /// Returns whether a worktree with these reasons has commits that can be merged.
    pub fn commits_can_be_merged(all: &[Self]) -> bool {
        let has_commits = |hazard: &Self| matches!(hazard, Self::Unmerged(_));
        all.iter().any(has_commits) && all.iter().all(Self::can_be_merged)
    }

    /// Returns whether the commits can be merged despite it.
    fn can_be_merged(&self) -> bool {
        !matches!(
            self,
            Self::Detached
                | Self::OtherBranch(_)
                | Self::MadeByHook
                | Self::NotAsMade(_)
                | Self::Unknown(_)
        )
    }
}

impl fmt::Display for Hazard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Dirty(files) => write!(f, "uncommitted changes of {}", named(files)),
            Self::Untracked(files) => write!(f, "untracked files: {}", named(files)),
            Self::ListedWorktree(files) => {
                write!(
                    f,
                    "copied files that differ from the originals: {}",
                    named(files)
                )
            }
            Self::Ignored(files) => write!(f, "ignored files: {}", named(files)),
            Self::Stashed(1) => f.write_str("a stash was created on its branch"),
            Self::Stashed(count) => write!(f, "{count} stashes were created on its branch"),
            Self::Unmerged(1) => f.write_str("1 commit is neither merged nor pushed"),
            Self::Unmerged(count) => write!(f, "{count} commits are neither merged nor pushed"),
            Self::Detached => f.write_str("its HEAD is detached"),
            Self::OtherBranch(branch) => write!(f, "it is on the branch {branch}"),
            Self::Locked(reason) if reason.is_empty() => f.write_str("it is locked with git"),
            Self::Locked(reason) => write!(f, "it is locked with git: {reason}"),
            Self::InUse(by) => write!(f, "it is in use by {by}"),
            Self::UnderWay(what) => write!(f, "a {what} is in progress"),
            Self::OwnRefs(names) => write!(f, "it has private refs: {}", named(names)),
            Self::Repositories(paths) => {
                write!(f, "it contains nested repositories: {}", named(paths))
            }
            Self::MadeByHook => {
                f.write_str("it was created by a hook, so its contents are unknown")
            }
            Self::NotAsMade(why) => write!(f, "it does not match its record: {why}"),
            Self::Unknown(why) => write!(f, "its state is unknown: {why}"),
        }
    }
}

/// Maximum number of names in an error.
const NAMED: usize = 8;

/// Lists the first names and the number of the others.
pub(crate) fn named(files: &[String]) -> String {
    let shown: Vec<_> = files
        .iter()
        .take(NAMED)
        .map(|file| file.escape_debug().to_string())
        .collect();
    let more = files.len().saturating_sub(shown.len());
    match more {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_pass_if_none_is_about_work() {
        let in_use = || Hazard::InUse("process 1 (sh)".to_owned());
        assert!(Hazard::may_pass(&[
            in_use(),
            Hazard::Unknown("git failed".to_owned())
        ]));
        assert!(!Hazard::may_pass(&[in_use(), Hazard::Unmerged(1)]));
    }

    #[test]
    fn only_commits_that_are_not_merged_can_be_merged() {
        let untracked = || Hazard::Untracked(vec!["new.txt".to_owned()]);
        let can_be = Hazard::commits_can_be_merged;
        assert!(!can_be(&[]));
        assert!(!can_be(&[untracked()]));
        assert!(can_be(&[untracked(), Hazard::Unmerged(1)]));
        assert!(!can_be(&[Hazard::Unmerged(1), Hazard::Detached]));
    }
}
