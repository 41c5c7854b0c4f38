//! What swarm keeps about a worktree, in `swarm/worktrees/<slug>.json` of git's common directory.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use swarm_os::{HandedLock, read_optional, replace_alone};
use swarm_protocol::{MemberName, SpawnId, TeamName, UnixMs};

use crate::create::LOCK_WAIT;
use crate::place::confirmed;
use crate::repository::Repository;
use crate::{Base, Carried, Slug, WorktreeError, usage};

/// Version of the format.
const VERSION: u32 = 1;

/// How far a worktree has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Stage {
    /// It is being made. Nobody has worked in it: if its maker dies, it is taken away again.
    Making,
    /// It can be worked in.
    Ready,
}

/// A process, told apart from a later one of the same number by its start.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ProcessMark {
    /// Its number.
    pub pid: u32,
    /// Its start time in clock ticks since boot (field 22 of `/proc/PID/stat`).
    pub start: String,
}

/// Whose worktree it is.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Owner {
    /// The team.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub team: Option<TeamName>,
    /// The member.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub member: Option<MemberName>,
    /// The sub-agent, if it is one's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// Which spawn of the member.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spawn_id: Option<SpawnId>,
    /// The member's life file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub life: Option<PathBuf>,
}

impl Owner {
    /// Whether both are worktrees of the same agent, of whichever spawn.
    pub(crate) fn is_same_agent(&self, other: &Self) -> bool {
        (&self.team, &self.member, &self.agent) == (&other.team, &other.member, &other.agent)
    }

    /// As people read it.
    pub fn describe(&self) -> String {
        let member = match (&self.member, &self.team) {
            (Some(member), Some(team)) => format!("{member}@{team}"),
            (Some(member), None) => member.to_string(),
            (None, Some(team)) => format!("the lead of {team}"),
            (None, None) => String::new(),
        };
        match &self.agent {
            Some(agent) if member.is_empty() => format!("agent {agent}"),
            Some(agent) => format!("agent {agent} of {member}"),
            None if member.is_empty() => "a lead".to_owned(),
            None => member,
        }
    }
}

/// Who lets go of a worktree: it may be somebody else's by then.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leaver {
    /// The agent, and which spawn of it.
    pub owner: Owner,
    /// The process that was given it, where that is known.
    pub process: Option<ProcessMark>,
}

/// What is known of one worktree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Record {
    /// Version of the format.
    pub version: u32,
    /// The name it goes by.
    pub slug: Slug,
    /// Where it is.
    pub path: PathBuf,
    /// Its branch, without `refs/heads/`.
    pub branch: String,
    /// The commit at which it began.
    pub base: Base,
    /// The checkout that it was made from.
    pub from: PathBuf,
    /// The branch of that checkout: what its work is merged into. `None` when none was checked out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// Whose it is.
    pub owner: Owner,
    /// When it was made.
    pub created_at: UnixMs,
    /// How far it has come.
    pub stage: Stage,
    /// Whether somebody was given it to work in and has not handed it back.
    pub in_use: bool,
    /// The process that works in it, or starts who will.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub process: Option<ProcessMark>,
    /// What came along that git does not know.
    #[serde(default)]
    pub carried: Vec<Carried>,
    /// What did not come along, and what else is worth knowing.
    #[serde(default)]
    pub notices: Vec<String>,
    /// The name of git's directory for it, in `worktrees` of git's common directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub git_directory: Option<String>,
    /// Git's settings for it alone, as it was made: the text of `config.worktree`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub git_settings: Option<String>,
    /// The commit of its branch up to which its work is in the target in other commits, where it is: what began at
    /// uncommitted changes is not merged as a branch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub taken: Option<String>,
    /// The commit of the target with which it was there. As long as nothing holds that, the work counts as not taken: a
    /// merge can be taken back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub taken_as: Option<String>,
    /// The directory of the repository's hooks, where git would not find it from here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hooks_path: Option<PathBuf>,
    /// Whether a hook of the user's has made it in git's place. It has no branch then, as far as is known here.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub by_hook: bool,
}

impl Record {
    pub(crate) const VERSION: u32 = VERSION;

    /// What git shall be told through the environment of programs that run in the worktree: where the hooks are, and not
    /// to tidy up a repository that others work in at the same time. Settings that are there already are kept.
    pub fn extend_env(&self, env: &mut BTreeMap<String, String>) {
        let hooks = self
            .hooks_path
            .as_ref()
            .map(|path| path.display().to_string());
        let settings = [
            ("gc.auto", Some("0".to_owned())),
            ("maintenance.auto", Some("false".to_owned())),
            ("core.hooksPath", hooks),
        ];
        let have = env
            .get("GIT_CONFIG_COUNT")
            .and_then(|count| count.parse().ok());
        let mut count: usize = have.unwrap_or(0);
        for (key, value) in settings {
            let Some(value) = value else { continue };
            env.insert(format!("GIT_CONFIG_KEY_{count}"), key.to_owned());
            env.insert(format!("GIT_CONFIG_VALUE_{count}"), value);
            count += 1;
        }
        env.insert("GIT_CONFIG_COUNT".to_owned(), count.to_string());
    }

    /// Where it comes from, as people read it: its branch and the commit at which that began.
    pub fn origin(&self) -> String {
        if self.by_hook {
            "made by a hook".to_owned()
        } else {
            format!("on {}, from {}", self.branch, self.base.describe())
        }
    }

    /// Whoever it was given to when this was written.
    pub fn leaver(&self) -> Leaver {
        Leaver {
            owner: self.owner.clone(),
            process: self.process.clone(),
        }
    }

    /// Whether nobody else has been given it since: no other agent, no other spawn of the same and no other process.
    pub(crate) fn is_still_of(&self, leaver: &Leaver) -> bool {
        let (own, their) = (&self.owner, &leaver.owner);
        own.is_same_agent(their)
            && !differ(own.spawn_id.as_ref(), their.spawn_id.as_ref())
            && !differ(self.process.as_ref(), leaver.process.as_ref())
    }

    /// The text of git's own lock on the worktree.
    pub(crate) fn lock_reason(&self) -> String {
        format!("{OUR_LOCK}{}", self.owner.describe())
    }

    pub(crate) fn save(&self, repository: &Repository) -> Result<(), WorktreeError> {
        // Paths of text, strings and numbers always serialize; a path that is no text does not.
        let bytes = serde_json::to_vec_pretty(self).map_err(|error| WorktreeError::Damaged {
            path: file(repository, &self.slug),
            why: error.to_string(),
        })?;
        Ok(replace_alone(&file(repository, &self.slug), &bytes)?)
    }

    pub(crate) fn load(
        repository: &Repository,
        slug: &Slug,
    ) -> Result<Option<Self>, WorktreeError> {
        let record = Self::read(&repository.records(), slug)?;
        let confirmed = record.map(|record| confirmed(repository, slug, record));
        confirmed.transpose()
    }

    /// Changes the record of a name as it stands by then: nobody else changes it meanwhile, nor as long as the lock is
    /// kept that is given back with it. `None` where there is no record, or `change` says that it is not to be. Not under
    /// the repository's lock, which those who have this one wait for.
    pub(crate) fn change(
        repository: &Repository,
        slug: &Slug,
        change: impl FnOnce(&mut Self) -> bool,
    ) -> Result<Option<(Self, HandedLock)>, WorktreeError> {
        if Self::load(repository, slug)?.is_none() {
            return Ok(None);
        }
        let lock = HandedLock::take(&repository.slug_lock_path(slug), LOCK_WAIT)?;
        let Some(mut record) = Self::load(repository, slug)? else {
            lock.retire();
            return Ok(None);
        };
        if !change(&mut record) {
            return Ok(None);
        }
        record.save(repository)?;
        Ok(Some((record, lock)))
    }

    /// Another process works in it in place of the holder.
    ///
    /// # Errors
    /// [`WorktreeError::Taken`] while the holder is running.
    pub(crate) fn hand_over(&mut self, process: ProcessMark) -> Result<(), WorktreeError> {
        let slug = self.slug.to_string();
        match usage::holder(self) {
            Ok(None) => {}
            Ok(Some(by)) => return Err(WorktreeError::Taken { slug, by }),
            Err(why) => return Err(WorktreeError::InTheWay { slug, why }),
        }
        self.in_use = true;
        self.process = Some(process);
        Ok(())
    }

    /// Nobody works in it any more.
    pub(crate) fn hand_back(&mut self) {
        self.in_use = false;
        self.process = None;
    }

    /// The record of a name in a directory of records, wherever what it speaks of lies.
    pub(crate) fn read(records: &Path, slug: &Slug) -> Result<Option<Self>, WorktreeError> {
        read(&records.join(format!("{}.json", slug.directory())))
    }

    pub(crate) fn forget(repository: &Repository, slug: &Slug) -> Result<(), WorktreeError> {
        let path = file(repository, slug);
        match fs::remove_file(&path) {
            Err(source) if source.kind() != io::ErrorKind::NotFound => {
                Err(WorktreeError::Read { path, source })
            }
            _ => Ok(()),
        }
    }

    /// All records of a repository by name, and what is wrong with those that cannot be read.
    pub(crate) fn all(
        repository: &Repository,
    ) -> Result<(Vec<Self>, Vec<WorktreeError>), WorktreeError> {
        let (found, mut damaged) = Self::all_in(&repository.records())?;
        let mut records = Vec::new();
        for record in found {
            let slug = record.slug.clone();
            match confirmed(repository, &slug, record) {
                Ok(record) => records.push(record),
                Err(error) => damaged.push(error),
            }
        }
        Ok((records, damaged))
    }

    /// All records in a directory, wherever what they speak of lies.
    pub(crate) fn all_in(
        directory: &Path,
    ) -> Result<(Vec<Self>, Vec<WorktreeError>), WorktreeError> {
        let entries = match fs::read_dir(directory) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(<_>::default()),
            entries => entries.map_err(|source| WorktreeError::Read {
                path: directory.to_owned(),
                source,
            })?,
        };
        let (mut records, mut damaged) = (Vec::new(), Vec::new());
        for entry in entries.flatten() {
            let path = entry.path();
            if path.extension().is_none_or(|extension| extension != "json") {
                continue;
            }
            match read(&path) {
                Ok(record) => records.extend(record),
                Err(error) => damaged.push(error),
            }
        }
        records.sort_by(|one, other| one.slug.cmp(&other.slug));
        Ok((records, damaged))
    }
}

/// Whether both are known and not the same.
fn differ<T: PartialEq>(one: Option<&T>, other: Option<&T>) -> bool {
    one.zip(other).is_some_and(|(one, other)| one != other)
}

/// How our own locks begin.
pub(crate) const OUR_LOCK: &str = "swarm: in use by ";

/// The directory of the records of a repository, by git's common directory.
pub(crate) fn records_of(common: &Path) -> PathBuf {
    common.join("swarm/worktrees")
}

fn file(repository: &Repository, slug: &Slug) -> PathBuf {
    repository
        .records()
        .join(format!("{}.json", slug.directory()))
}

pub(crate) fn read(path: &Path) -> Result<Option<Record>, WorktreeError> {
    let Some(bytes) = read_optional(path)? else {
        return Ok(None);
    };
    let parsed = serde_json::from_slice(&bytes);
    parsed.map(Some).map_err(|error| WorktreeError::Damaged {
        path: path.to_owned(),
        why: error.to_string(),
    })
}
