//! What speaks against removing a worktree.

use std::fmt;

/// Something that would be lost or broken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Hazard {
    /// Tracked files are changed.
    Dirty(Vec<String>),
    /// There are files that git does not know.
    Untracked(Vec<String>),
    /// Ignored files that `.worktreeinclude` lists are not as they came.
    ListedWorktree(Vec<String>),
    /// Changes of its branch were stashed, this many times.
    Stashed(usize),
    /// This many commits are in no other branch and were not pushed.
    Unmerged(u64),
    /// No branch is checked out.
    Detached,
    /// Another branch is checked out.
    OtherBranch(String),
    /// Somebody has locked it with git, and says why.
    Locked(String),
    /// Somebody works in it.
    InUse(String),
    /// A merge, rebase or the like is under way.
    UnderWay(&'static str),
    /// It holds refs that exist only in it.
    OwnRefs(Vec<String>),
    /// It holds repositories of their own.
    Repositories(Vec<String>),
    /// A hook has made it, and nobody here knows what is work in it.
    MadeByHook,
    /// It is not registered as it was made, so git is not run in it.
    NotAsMade(String),
    /// It cannot be found out.
    Unknown(String),
}

impl Hazard {
    /// Whether a rescue saves what would be lost.
    pub fn can_be_rescued(&self) -> bool {
        !matches!(
            self,
            Self::InUse(_)
                | Self::Repositories(_)
                | Self::OwnRefs(_)
                | Self::MadeByHook
                | Self::NotAsMade(_)
                | Self::Unknown(_)
        )
    }

    /// Whether git can merge what is committed all the same.
    pub fn can_be_merged(&self) -> bool {
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
            Self::Untracked(files) => write!(f, "files that git does not know: {}", named(files)),
            Self::ListedWorktree(files) => {
                write!(
                    f,
                    "listed files that differ from where they came from: {}",
                    named(files)
                )
            }
            Self::Stashed(1) => f.write_str("a stash was made on its branch"),
            Self::Stashed(count) => write!(f, "{count} stashes were made on its branch"),
            Self::Unmerged(1) => f.write_str("1 commit is neither merged nor pushed"),
            Self::Unmerged(count) => write!(f, "{count} commits are neither merged nor pushed"),
            Self::Detached => f.write_str("its HEAD is detached"),
            Self::OtherBranch(branch) => write!(f, "it is on the branch {branch}"),
            Self::Locked(reason) if reason.is_empty() => f.write_str("it is locked with git"),
            Self::Locked(reason) => write!(f, "it is locked with git: {reason}"),
            Self::InUse(by) => write!(f, "it is in use by {by}"),
            Self::UnderWay(what) => write!(f, "a {what} is under way in it"),
            Self::OwnRefs(names) => write!(f, "it has refs of its own: {}", named(names)),
            Self::Repositories(paths) => {
                write!(f, "it holds repositories of their own: {}", named(paths))
            }
            Self::MadeByHook => f.write_str("a hook made it, so what it holds is not known"),
            Self::NotAsMade(why) => write!(f, "it is not as it was made: {why}"),
            Self::Unknown(why) => write!(f, "its state cannot be found out: {why}"),
        }
    }
}

/// How many files an error names.
const NAMED: usize = 8;

/// The first of many names, with the number of the others.
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
