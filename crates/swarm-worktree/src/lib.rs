//! Git worktree isolation: slug, create or reuse, copied files, keep or remove, merge.
//!
//! Built on the git program. Whatever git fails to answer is *unknown* and never taken for "nothing there": what is not
//! known to be safe is not removed. Everything here blocks.

mod anchor;
mod base;
mod by_hook;
mod carry;
mod copy;
mod create;
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
mod places;
mod record;
mod records;
mod recover;
mod registration;
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
pub use record::{Base, Carried, Leaver, Owner, ProcessMark, Record, Stage};
pub use remove::{RemovedWorktree, WorktreeOutcome};
pub use rescue::Rescue;
pub use settings::{Dependencies, MergeMode, Uncommitted, WorktreeSettings};
pub use slug::{Slug, SlugError};
pub use summary::GitSummary;
pub use usage::{Occupant, Occupants};
pub use worktrees::Worktrees;
