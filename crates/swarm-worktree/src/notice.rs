//! What an agent is told whose files are in a worktree.

use std::fmt::Write as _;
use std::path::Path;

use crate::{Created, MergeMode};

/// What a fork is told that works in a worktree while its conversation speaks of another directory.
pub fn moved_notice(from: &Path, to: &Path) -> String {
    format!(
        "You work in a git worktree of your own: {to}. What was said so far speaks of {from}. The same files stand at the \
         same places below your directory, so translate such paths before you use them. Read a file again before you edit \
         it: it may differ from what was read there. What you change stays in your worktree and touches nothing in {from}.",
        to = to.display(),
        from = from.display(),
    )
}

/// Who works in a worktree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resident {
    /// A teammate, whose work is merged so.
    Teammate(MergeMode),
    /// A sub-agent, whose caller merges its work.
    SubAgent,
    /// A lead, whose work a person merges.
    Lead,
}

/// What an agent needs to know of the worktree in which it begins: where it is, how its work reaches others, and what is
/// not in it.
pub fn worktree_notice(created: &Created, resident: Resident) -> String {
    let record = &created.record;
    let (path, from) = (record.path.display(), record.from.display());
    let mut text =
        format!("# Worktree\nYou work in {path}, a git worktree of your own of {from}. ");
    if record.by_hook {
        text.push_str("A hook of the user made it, and how its work is merged is not known here.");
    } else {
        let branch = created.branch.as_deref().unwrap_or(&record.branch);
        // Writing into a String cannot fail.
        let _infallible = write!(
            text,
            "Its branch is {branch}, which began at {}.\n- {}",
            record.base.describe(),
            merging(created, branch, resident)
        );
    }
    text.push_str(
        "\n- Write below your worktree only; elsewhere it is refused. Nobody sees your changes before they are merged, and \
         you do not see what others change.",
    );
    let _infallible = write!(text, "\n- {}", left_behind(created));
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
            "{committed}. It began without a branch to merge into, so whoever gave you the work merges {branch} by hand."
        );
    };
    let merges = format!("`swarm worktree merge {}`", record.slug);
    let how = match resident {
        Resident::Teammate(MergeMode::Auto) => format!(
            "Completing a task with TaskUpdate merges them into {target}; on a conflict the task stays open and you are told \
             which files to fix. The lead can merge them at any time with {merges}"
        ),
        Resident::Teammate(MergeMode::Manual) => {
            format!(
                "Somebody else merges them into {target} with {merges}, so say in your report when they are ready"
            )
        }
        Resident::SubAgent => format!(
            "Your caller merges them with `git merge {branch}`, so say in your last message what you have committed"
        ),
        Resident::Lead => {
            format!("The person you work for merges them into {target} with {merges}")
        }
    };
    format!("{committed}. {how}. To get what is new in {target}, run `git merge {target}`.")
}

fn left_behind(created: &Created) -> String {
    let record = &created.record;
    let from = record.from.display();
    let carried: Vec<String> = record
        .carried
        .iter()
        .map(|one| format!("{} ({})", one.path.display(), one.how))
        .collect();
    let but = match carried.as_slice() {
        [] => String::new(),
        some => format!(", but for {}", some.join(", ")),
    };
    if record.base.snapshot_of.is_some() {
        format!(
            "The uncommitted changes of {from} came along in the commit at which your branch began. Files that git ignores \
             stayed behind{but}."
        )
    } else {
        format!("Uncommitted changes of {from} and files that git ignores stayed behind{but}.")
    }
}
