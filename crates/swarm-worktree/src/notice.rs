//! Notices for agents that work in a worktree.

use std::fmt::Write as _;
use std::path::Path;

use crate::{Created, MergeMode};

/// Returns the notice for a fork that works in a worktree and whose conversation refers to another
/// directory.
pub fn moved_notice(from: &Path, to: &Path) -> String {
    format!(
        "You work in your own git worktree: {to}. The conversation so far refers to {from}. Your worktree contains the \
 same files at the same relative paths, so translate such paths before you use them. Read a file again before you \
 edit it: its content may differ. Your changes stay in your worktree and do not affect {from}.",
        to = to.display(),
        from = from.display(),
    )
}

/// The agent that works in a worktree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resident {
    /// A teammate, and when its work is merged.
    Teammate(MergeMode),
    /// A sub-agent, whose caller merges its work.
    SubAgent,
    /// A lead, whose work the user merges.
    Lead,
}

/// Returns the notice for an agent that starts in a worktree: its path, how its work is merged, and
/// which files it lacks.
pub fn worktree_notice(created: &Created, resident: Resident) -> String {
    let record = &created.record;
    let (path, from) = (record.path.display(), record.from.display());
    let mut text = format!("# Worktree\nYou work in {path}, your own git worktree of {from}. ");
    if record.by_hook {
        text.push_str("It was created by a hook of the user; how its work is merged is unknown.");
    } else {
        let branch = created.branch.as_deref().unwrap_or(&record.branch);
        // Writing into a String cannot fail.
        let _infallible = write!(
            text,
            "Its branch is {branch}, based on {}.\n- {}",
            record.base.describe(),
            merging(created, branch, resident)
        );
    }
    text.push_str(
        "\n- Write only below your worktree; other paths are refused. Other agents do not see your changes until they are \
 merged, and you do not see theirs.",
    );
    let _infallible = write!(text, "\n- {}", missing_files(created));
    for notice in &created.notices {
        let _infallible = write!(text, "\n- {notice}");
    }
    text
}

fn merging(created: &Created, branch: &str, resident: Resident) -> String {
    let record = &created.record;
    let committed = "Commit your work there: only commits on that branch can be merged";
    let Some(target) = &record.target else {
        return format!(
            "{committed}. There is no target branch, so the agent or user that gave you the work merges {branch} manually."
        );
    };
    let merges = format!("`swarm worktree merge {}`", record.slug);
    let how = match resident {
        Resident::Teammate(MergeMode::Auto) => format!(
            "Completing a task with TaskUpdate merges them into {target}; on a conflict the task stays open and the error \
 names the files to fix. The lead can merge them at any time with {merges}"
        ),
        Resident::Teammate(MergeMode::Manual) => {
            format!(
                "The lead or the user merges them into {target} with {merges}, so report when they are ready"
            )
        }
        Resident::SubAgent => format!(
            "Your caller merges them with `git merge {branch}`, so say in your last message what you have committed"
        ),
        Resident::Lead => {
            format!("The user merges them into {target} with {merges}")
        }
    };
    format!("{committed}. {how}. To get new commits of {target}, run `git merge {target}`.")
}

fn missing_files(created: &Created) -> String {
    let record = &created.record;
    let from = record.from.display();
    let carried: Vec<String> = record
        .carried
        .iter()
        .map(|one| format!("{} ({})", one.path.display(), one.how))
        .collect();
    let exceptions = match carried.as_slice() {
        [] => String::new(),
        some => format!(", except {}", some.join(", ")),
    };
    if record.base.snapshot_of.is_some() {
        format!(
            "The commit that your branch is based on includes the uncommitted changes of {from}. Files that git ignores \
             were not copied{exceptions}."
        )
    } else {
        format!(
            "Uncommitted changes of {from} and files that git ignores were not copied{exceptions}."
        )
    }
}
