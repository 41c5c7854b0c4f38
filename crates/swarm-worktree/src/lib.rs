//! Git worktree isolation: names, creation or reuse, copied files, removal, merges. Uses the git
//! program. If git fails, the state is *unknown* and never treated as "nothing there": a worktree
//! is only removed if that is known to be safe. All operations block.

mod base;
mod by_hook;
mod carry;
mod copy;
mod create;
mod enclosing;
mod error;
mod git;
mod hazard;
mod heads;
mod inspect;
mod list;
mod locate;
mod maker;
mod merge;
mod merge_tree;
mod notice;
mod place;
mod record;
mod records;
mod recover;
mod registration;
mod registry;
mod remove;
mod repository;
mod rescue;
mod settings;
mod slug;
mod snapshot;
mod summary;
mod usage;
mod view;
mod worktrees;

pub use create::{Created, Request};
pub use error::WorktreeError;
pub use git::{Git, GitError};
pub use hazard::Hazard;
pub use heads::{Seen, seen};
pub use list::{Condition, ListedWorktree, Pruned};
pub use maker::DirectoryMaker;
pub use merge::{MergeOutcome, Merged};
pub use notice::{Resident, moved_notice, worktree_notice};
pub use record::{Base, Carried, FormerOwner, Owner, ProcessMark, Record, Stage};
pub use remove::{RemovedWorktree, WorktreeOutcome};
pub use rescue::Rescue;
pub use settings::{Dependencies, MergeMode, Uncommitted, WorktreeSettings};
pub use slug::{Slug, SlugError};
pub use summary::GitSummary;
pub use usage::{Occupant, Occupants};
pub use worktrees::Worktrees;
