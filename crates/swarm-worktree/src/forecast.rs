//! Forecast of conflicts: pairs of worktrees whose work does not merge.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use swarm_os::read_optional;

use crate::git::{Call, text};
use crate::hazard::named;
use crate::merge_tree::{MergedTree, merge_trees};
use crate::repository::Repository;
use crate::uncommitted::TemporaryObjects;
use crate::{Owner, Record, Result, Slug, Stage, Worktrees, fetched, json_file, temporary};

/// A worktree of a pair that conflicts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Colliding {
    /// Name of the worktree.
    pub slug: Slug,
    /// Its branch.
    pub branch: String,
    /// Its owner.
    pub owner: Owner,
    /// Whether uncommitted changes are part of its work.
    pub uncommitted: bool,
}

/// Two worktrees whose work conflicts.
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

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Work {
    /// The commit of its branch.
    tip: String,
    /// The tree with uncommitted changes, if there are some.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tree: Option<String>,
}

impl Work {
    fn committed(&self) -> Self {
        Self {
            tip: self.tip.clone(),
            tree: None,
        }
    }
}

/// The result for two states, which never changes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Known {
    work: [Work; 2],
    files: Vec<String>,
}

/// The last forecast.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
struct Stored {
    worktrees: BTreeMap<Slug, Work>,
    pairs: Vec<Known>,
}

impl Worktrees {
    /// Returns the pairs of worktrees of a repository whose work conflicts, with uncommitted
    /// changes. Ignored files, files above 1 MiB and worktrees in the middle of a merge are left
    /// out. Only pairs that have changed since the last call, by any process, are merged again.
    ///
    /// # Errors
    /// If there is no repository, or git fails.
    pub fn forecast(&self, directory: &Path) -> Result<Vec<Collision>> {
        let repository = Repository::find(self.git(), self.registry(), directory)?;
        if !repository.own_directory().is_dir() {
            // It has no worktrees of swarm.
            return Ok(Vec::new());
        }
        temporary::clear(&repository);
        let objects = TemporaryObjects::create(&repository)?;
        Forecast::begin(&repository, Changes::Read(&objects))?.finish()
    }

    /// Like [`Worktrees::forecast`], without reading the files of worktrees: uncommitted changes
    /// are those of the last forecast, if the branch has not moved since. They are only up to date
    /// while a lead makes forecasts.
    ///
    /// # Errors
    /// The same errors.
    pub fn known_forecast(&self, directory: &Path) -> Result<Vec<Collision>> {
        let repository = Repository::find(self.git(), self.registry(), directory)?;
        Forecast::begin(&repository, Changes::Last)?.finish()
    }

    /// Like [`Worktrees::forecast`], of commits only.
    ///
    /// # Errors
    /// The same errors.
    pub fn committed_forecast(&self, directory: &Path) -> Result<Vec<Collision>> {
        let repository = Repository::find(self.git(), self.registry(), directory)?;
        Forecast::begin(&repository, Changes::LeftOut)?.finish()
    }
}

/// Which uncommitted changes a forecast has.
#[derive(Debug, Clone, Copy)]
enum Changes<'a> {
    /// Those in the worktrees. Their objects are temporary.
    Read(&'a TemporaryObjects),
    /// Those of the last forecast.
    Last,
    /// None.
    LeftOut,
}

/// A forecast that is being made.
struct Forecast<'a> {
    repository: &'a Repository,
    changes: Changes<'a>,
    path: PathBuf,
    before: Stored,
    sides: Vec<Side>,
}

/// A worktree with work.
struct Side {
    record: Record,
    work: Work,
}

impl Side {
    fn named(&self) -> Colliding {
        Colliding {
            slug: self.record.slug.clone(),
            branch: self.record.branch.clone(),
            owner: self.record.owner.clone(),
            uncommitted: self.work.tree.is_some(),
        }
    }
}

impl<'a> Forecast<'a> {
    fn begin(repository: &'a Repository, changes: Changes<'a>) -> Result<Self> {
        let path = repository.own_directory().join("forecast.json");
        let stored = read_optional(&path)?.unwrap_or_default();
        let mut forecast = Self {
            repository,
            changes,
            path,
            // A damaged file only costs time.
            before: serde_json::from_slice(&stored).unwrap_or_default(),
            sides: Vec::new(),
        };
        forecast.sides = forecast.sides()?;
        Ok(forecast)
    }

    fn finish(self) -> Result<Vec<Collision>> {
        let (mut pairs, mut collisions) = (Vec::new(), Vec::new());
        for (at, one) in self.sides.iter().enumerate() {
            for other in &self.sides[at + 1..] {
                if one.record.target != other.record.target {
                    continue;
                }
                let known = self.known([&one.work, &other.work])?;
                if !known.files.is_empty() {
                    collisions.push(Collision {
                        worktrees: [one.named(), other.named()],
                        files: known.files.clone(),
                    });
                }
                pairs.push(known);
            }
        }
        let sides = self.sides.iter();
        let worktrees = sides.map(|side| (side.record.slug.clone(), side.work.clone()));
        let stored = Stored {
            worktrees: worktrees.collect(),
            pairs,
        };
        if stored != self.before && !self.would_lose_changes() {
            json_file::write(&self.path, &stored)?;
        }
        Ok(collisions)
    }

    /// Returns whether storing this forecast would replace one with uncommitted changes, which
    /// other teams of the repository may need.
    fn would_lose_changes(&self) -> bool {
        let mut before = self.before.worktrees.values();
        matches!(self.changes, Changes::LeftOut) && before.any(|work| work.tree.is_some())
    }

    /// Returns the worktrees with a target and work, by name.
    fn sides(&self) -> Result<Vec<Side>> {
        let mut records = Record::all(self.repository)?.0;
        records.extend(fetched::all(self.repository)?);
        records.retain(|record| record.stage == Stage::Ready && record.target.is_some());
        if records.len() < 2 {
            return Ok(Vec::new());
        }
        records.sort_by(|one, other| one.slug.cmp(&other.slug));
        let format = "--format=%(objectname) %(refname)";
        let words = [
            "for-each-ref",
            format,
            "refs/heads/worktree-*",
            "refs/swarm/members/",
        ];
        let listed = text(&self.repository.common_git().run(&words)?);
        let tips: BTreeMap<&str, &str> = listed
            .lines()
            .filter_map(|line| line.split_once(' '))
            .map(|(tip, name)| (name, tip))
            .collect();
        let sides = records.into_iter().filter_map(|record| {
            let tip = (*tips.get(record.branch_ref().as_str())?).to_owned();
            let tree = self.uncommitted(&record, &tip);
            let has_work = tree.is_some() || tip != record.base.sha;
            let work = Work { tip, tree };
            has_work.then_some(Side { record, work })
        });
        Ok(sides.collect())
    }

    /// Returns the tree with the uncommitted changes of a worktree. If it cannot be determined, the
    /// forecast has only its commits.
    fn uncommitted(&self, record: &Record, tip: &str) -> Option<String> {
        let objects = match self.changes {
            Changes::Read(objects) => objects,
            Changes::Last => {
                let last = self.before.worktrees.get(&record.slug);
                let last = last.filter(|last| last.tip == tip);
                return last.and_then(|last| last.tree.clone());
            }
            Changes::LeftOut => return None,
        };
        if !record.path_here()?.is_dir() {
            return None;
        }
        objects
            .tree(self.repository, record)
            .unwrap_or_else(|error| {
                tracing::debug!(slug = %record.slug, %error, "uncommitted changes not read");
                None
            })
    }

    /// Returns in which files two states conflict. Uncommitted changes whose objects no longer
    /// exist are left out, unless the result is known.
    fn known(&self, work: [&Work; 2]) -> Result<Known> {
        let find = |work: &[Work; 2]| {
            let mut pairs = self.before.pairs.iter();
            pairs.find(|known| known.work == *work).cloned()
        };
        let work = work.map(Clone::clone);
        if let Some(known) = find(&work) {
            return Ok(known);
        }
        if let Changes::Read(objects) = self.changes {
            let at = objects.git(self.repository);
            let files = conflicts(&at, &self.commits(objects, &work)?)?;
            return Ok(Known { work, files });
        }
        let work = work.map(|work| work.committed());
        if let Some(known) = find(&work) {
            return Ok(known);
        }
        let at = self.repository.common_git().changing();
        let tips = [&work[0].tip, &work[1].tip].map(Clone::clone);
        let files = conflicts(&at, &tips)?;
        Ok(Known { work, files })
    }

    /// Returns a commit for each state.
    fn commits(&self, objects: &TemporaryObjects, work: &[Work; 2]) -> Result<[String; 2]> {
        let commit = |work: &Work| match &work.tree {
            Some(tree) => objects.commit(self.repository, tree, &work.tip),
            None => Ok(work.tip.clone()),
        };
        Ok([commit(&work[0])?, commit(&work[1])?])
    }
}

/// Returns the files in which two commits conflict.
fn conflicts(at: &Call<'_>, commits: &[String; 2]) -> Result<Vec<String>> {
    Ok(match merge_trees(at, &commits[0], &commits[1])? {
        MergedTree::Clean(_) => Vec::new(),
        MergedTree::Conflict(files) => files,
    })
}
