//! What swarm keeps about a worktree, in `swarm/worktrees/<slug>.json` of git's common directory.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use swarm_os::read_optional;
use swarm_protocol::{MemberName, SpawnId, TeamName, UnixMs};

use crate::{Slug, WorktreeError};

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

    /// Nobody works in it any more.
    pub(crate) fn hand_back(&mut self) {
        self.in_use = false;
        self.process = None;
    }

    /// The record of a name in a directory of records, wherever what it speaks of lies.
    pub(crate) fn read(records: &Path, slug: &Slug) -> Result<Option<Self>, WorktreeError> {
        read(&records.join(format!("{}.json", slug.directory())))
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

/// Where a worktree begins, and how that stands to what others have.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Base {
    /// The commit.
    pub sha: String,
    /// The branch of the caller's checkout, if one was checked out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// What that branch follows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub upstream: Option<String>,
    /// Commits that upstream, as last fetched, did not have.
    #[serde(default)]
    pub ahead: u64,
    /// Commits of upstream, as last fetched, that are missing.
    #[serde(default)]
    pub behind: u64,
    /// The caller's HEAD, if the worktree begins at a snapshot of its uncommitted changes on top of that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub snapshot_of: Option<String>,
}

impl Base {
    /// As people read it: `1a2b3c4d5e6f (main, 2 ahead of and 1 behind origin/main)`.
    pub fn describe(&self) -> String {
        if self.sha.is_empty() {
            return "no commit".to_owned();
        }
        let place = match (&self.branch, &self.upstream) {
            (None, _) => "no branch".to_owned(),
            (Some(branch), None) => format!("{branch}, no upstream"),
            (Some(branch), Some(upstream)) => match (self.ahead, self.behind) {
                (0, 0) => format!("{branch}, level with {upstream}"),
                (ahead, 0) => format!("{branch}, {ahead} ahead of {upstream}"),
                (0, behind) => format!("{branch}, {behind} behind {upstream}"),
                (ahead, behind) => {
                    format!("{branch}, {ahead} ahead of and {behind} behind {upstream}")
                }
            },
        };
        match &self.snapshot_of {
            None => format!("{} ({place})", short(&self.sha)),
            Some(head) => format!(
                "{} (uncommitted changes on {}; {place})",
                short(&self.sha),
                short(head)
            ),
        }
    }
}

/// As much of an object id as people read.
pub(crate) fn short(sha: &str) -> &str {
    sha.get(..12).unwrap_or(sha)
}

/// Something that came along.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Carried {
    /// Its path below the checkout.
    pub path: PathBuf,
    /// How: `copy`, `reflink` or `symlink`.
    pub how: String,
}
