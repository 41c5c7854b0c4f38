//! Forecast of conflicts: pairs of worktrees whose commits do not merge.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};
use swarm_os::{read_optional, replace_alone};

use crate::git::text;
use crate::hazard::named;
use crate::merge_tree::{MergedTree, merge_trees};
use crate::repository::Repository;
use crate::{Owner, Record, Slug, Stage, WorktreeError, Worktrees};

/// A worktree of a pair that conflicts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Colliding {
    /// Name of the worktree.
    pub slug: Slug,
    /// Its branch.
    pub branch: String,
    /// Its owner.
    pub owner: Owner,
}

/// Two worktrees whose committed work conflicts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Collision {
    /// The worktrees, by name.
    pub worktrees: [Colliding; 2],
    /// The conflicting files.
    pub files: Vec<String>,
}

impl Collision {
    /// Lists the first conflicting files and the number of the others, for messages.
    pub fn file_list(&self) -> String {
        named(&self.files)
    }
}

/// The result for two commits, which never changes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Known {
    tips: [String; 2],
    files: Vec<String>,
}

impl Worktrees {
    /// Returns the pairs of worktrees of a repository whose commits conflict. Only pairs of which a
    /// branch has moved since the last call, by any process, are merged again.
    ///
    /// # Errors
    /// [`WorktreeError`] if there is no repository, or git fails.
    pub fn forecast(&self, directory: &Path) -> Result<Vec<Collision>, WorktreeError> {
        let repository = Repository::find(self.git(), self.registry(), directory)?;
        let sides = sides(&repository)?;
        let path = repository.own_directory().join("forecast.json");
        let stored = read_optional(&path)?.unwrap_or_default();
        // A damaged file only costs time.
        let before: Vec<Known> = serde_json::from_slice(&stored).unwrap_or_default();
        let (mut known, mut collisions) = (Vec::new(), Vec::new());
        for (at, one) in sides.iter().enumerate() {
            for other in &sides[at + 1..] {
                if one.record.target != other.record.target {
                    continue;
                }
                let tips = [one.tip.clone(), other.tip.clone()];
                let files = match before.iter().find(|known| known.tips == tips) {
                    Some(known) => known.files.clone(),
                    None => conflicts(&repository, &tips)?,
                };
                if !files.is_empty() {
                    collisions.push(Collision {
                        worktrees: [one.named(), other.named()],
                        files: files.clone(),
                    });
                }
                known.push(Known { tips, files });
            }
        }
        if known != before {
            let text = serde_json::to_vec(&known).map_err(|error| WorktreeError::Damaged {
                path: path.clone(),
                why: error.to_string(),
            })?;
            replace_alone(&path, &text)?;
        }
        Ok(collisions)
    }
}

/// A worktree with commits.
struct Side {
    record: Record,
    tip: String,
}

impl Side {
    fn named(&self) -> Colliding {
        Colliding {
            slug: self.record.slug.clone(),
            branch: self.record.branch.clone(),
            owner: self.record.owner.clone(),
        }
    }
}

/// Returns the worktrees with commits and a target, by name.
fn sides(repository: &Repository) -> Result<Vec<Side>, WorktreeError> {
    let mut records = Record::all(repository)?.0;
    records.retain(|record| record.stage == Stage::Ready && record.target.is_some());
    if records.len() < 2 {
        return Ok(Vec::new());
    }
    records.sort_by(|one, other| one.slug.cmp(&other.slug));
    let format = "--format=%(objectname) %(refname:lstrip=2)";
    let words = ["for-each-ref", format, "refs/heads/worktree-*"];
    let listed = text(&repository.common_git().run(&words)?);
    let tips: BTreeMap<&str, &str> = listed
        .lines()
        .filter_map(|line| line.split_once(' '))
        .map(|(tip, branch)| (branch, tip))
        .collect();
    let with_commits = records.into_iter().filter_map(|record| {
        let tip = (*tips.get(record.branch.as_str())?).to_owned();
        (tip != record.base.sha).then_some(Side { record, tip })
    });
    Ok(with_commits.collect())
}

/// Returns the files in which two commits conflict.
fn conflicts(repository: &Repository, tips: &[String; 2]) -> Result<Vec<String>, WorktreeError> {
    let at = repository.common_git().changing();
    Ok(match merge_trees(repository, &at, &tips[0], &tips[1])? {
        MergedTree::Clean(_) => Vec::new(),
        MergedTree::Conflict(files) => files,
    })
}
