//! Records of worktrees, in `swarm/worktrees/<slug>.json` of the shared git directory.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use swarm_protocol::{MemberName, SpawnId, TeamName, UnixMs};

use crate::{Result, Slug, WorktreeError, json_file};

/// Version of the format.
const VERSION: u32 = 1;

/// Stage of the creation of a worktree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Stage {
    /// It is being created. If its creator dies, it is removed, because no agent has worked in it.
    Making,
    /// It is ready for use.
    Ready,
}

/// A process, identified by pid and start time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ProcessMark {
    /// The pid.
    pub pid: u32,
    /// The start time in clock ticks since boot (field 22 of `/proc/PID/stat`).
    pub start: String,
}

/// Owner of a worktree.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Owner {
    /// The team.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub team: Option<TeamName>,
    /// The member.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub member: Option<MemberName>,
    /// The id of the sub-agent, if it belongs to one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The spawn of the member.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spawn_id: Option<SpawnId>,
}

impl Owner {
    /// Returns whether both are the same agent, in any spawn.
    pub(crate) fn is_same_agent(&self, other: &Self) -> bool {
        (&self.team, &self.member, &self.agent) == (&other.team, &other.member, &other.agent)
    }

    /// Returns a description for messages.
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

/// An owner that releases a worktree. The worktree may have a new owner by then.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FormerOwner {
    /// The agent and its spawn.
    pub owner: Owner,
    /// The process that used it, if known.
    pub process: Option<ProcessMark>,
}

/// The record of a worktree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Record {
    /// Version of the format.
    pub version: u32,
    /// Name of the worktree.
    pub slug: Slug,
    /// Path of the worktree.
    pub path: PathBuf,
    /// Its branch, without `refs/heads/`.
    pub branch: String,
    /// The commit that it is based on.
    pub base: Base,
    /// The checkout that it was created from.
    pub from: PathBuf,
    /// The branch of that checkout, into which its work is merged. `None` if HEAD was detached.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// The owner.
    pub owner: Owner,
    /// Time of its creation.
    pub created_at: UnixMs,
    /// Stage of its creation.
    pub stage: Stage,
    /// Whether it is assigned to an agent that has not released it.
    pub in_use: bool,
    /// The process that works in it, or starts the one that will.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub process: Option<ProcessMark>,
    /// Copied files that are not tracked by git.
    #[serde(default)]
    pub carried: Vec<Carried>,
    /// Notices for the agent, such as files that were not copied.
    #[serde(default)]
    pub notices: Vec<String>,
    /// Name of its git directory, in `worktrees` of the shared git directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub git_directory: Option<String>,
    /// Content of `config.worktree` at its creation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub git_settings: Option<String>,
    /// The last commit of its branch whose changes were copied to the target. Branches based on
    /// uncommitted changes are copied instead of merged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub taken: Option<String>,
    /// The commit of the target that contains the copy. If no branch or tag contains it any more,
    /// the work counts as unmerged: the merge was undone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub taken_as: Option<String>,
    /// The last commit of its branch that was merged on another machine. It was sent there, so it is
    /// not lost with this worktree.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub merged_elsewhere: Option<String>,
    /// Hooks directory of the repository, if git would not find it from the worktree.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hooks_path: Option<PathBuf>,
    /// Whether it was created by a hook of the user instead of git. Its branch is unknown then.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub by_hook: bool,
    /// State of a worktree on another machine. Its path is one of that machine then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remote: Option<RemoteState>,
}

/// State of a worktree on another machine, as its member last published it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RemoteState {
    /// Name of the machine.
    pub host: String,
    /// The first changed files that were not committed.
    #[serde(default)]
    pub uncommitted: Vec<String>,
}

impl Record {
    /// Returns a record of a worktree in use, created from the checkout `from`, without its path,
    /// branch and base.
    pub(crate) fn new(slug: Slug, from: PathBuf, owner: Owner, created_at: UnixMs) -> Self {
        Self {
            version: VERSION,
            slug,
            path: PathBuf::new(),
            branch: String::new(),
            base: Base::default(),
            from,
            target: None,
            owner,
            created_at,
            stage: Stage::Ready,
            in_use: true,
            process: None,
            carried: Vec::new(),
            notices: Vec::new(),
            git_directory: None,
            git_settings: None,
            taken: None,
            taken_as: None,
            merged_elsewhere: None,
            hooks_path: None,
            by_hook: false,
            remote: None,
        }
    }

    /// Returns whether the file at a path relative to the checkout was copied.
    pub(crate) fn carries(&self, path: &Path) -> bool {
        self.carried.iter().any(|carried| carried.path == path)
    }

    /// Adds git settings to the environment of programs that run in the worktree: the hooks
    /// directory, and no automatic maintenance of a repository that others use at the same time.
    /// Keeps existing settings.
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

    /// Returns the ref of its commits: its branch, or the ref into which they were fetched from another
    /// machine.
    pub(crate) fn branch_ref(&self) -> String {
        match (&self.remote, &self.owner.team, &self.owner.member) {
            (Some(_), Some(team), Some(member)) => format!("refs/swarm/members/{team}/{member}"),
            _ => format!("refs/heads/{}", self.branch),
        }
    }

    pub(crate) fn path_here(&self) -> Option<&Path> {
        self.remote.is_none().then_some(&self.path)
    }

    /// Returns its path for people, with the machine if it is on another one.
    pub fn location(&self) -> String {
        let path = self.path.display();
        match &self.remote {
            Some(remote) => format!("{}:{path}", remote.host),
            None => path.to_string(),
        }
    }

    /// Returns a description of its branch and base commit.
    pub fn origin(&self) -> String {
        if self.by_hook {
            "created by a hook".to_owned()
        } else {
            format!("on {}, from {}", self.branch, self.base.describe())
        }
    }

    /// Returns the present owner and process.
    pub fn former_owner(&self) -> FormerOwner {
        FormerOwner {
            owner: self.owner.clone(),
            process: self.process.clone(),
        }
    }

    /// Returns whether it still belongs to `former_owner`: the same agent, spawn and process, as
    /// far as they are known.
    pub(crate) fn is_still_of(&self, former_owner: &FormerOwner) -> bool {
        let (own, their) = (&self.owner, &former_owner.owner);
        own.is_same_agent(their)
            && !differ(own.spawn_id.as_ref(), their.spawn_id.as_ref())
            && !differ(self.process.as_ref(), former_owner.process.as_ref())
    }

    /// Returns the reason of git's lock on the worktree.
    pub(crate) fn lock_reason(&self) -> String {
        format!("{OUR_LOCK}{}", self.owner.describe())
    }

    /// Marks it as not in use if it still belongs to `former_owner`. Returns whether it does.
    pub(crate) fn release_from(&mut self, former_owner: &FormerOwner) -> bool {
        let is_theirs = self.is_still_of(former_owner);
        if is_theirs {
            self.in_use = false;
            self.process = None;
        }
        is_theirs
    }

    /// Reads the record of a name in a directory of records, without checking its path.
    pub(crate) fn read(records: &Path, slug: &Slug) -> Result<Option<Self>> {
        json_file::read(&records.join(format!("{}.json", slug.directory())))
    }

    /// Reads all records in a directory, without checking their paths.
    pub(crate) fn all_in(directory: &Path) -> Result<(Vec<Self>, Vec<WorktreeError>)> {
        let (mut records, mut damaged) = (Vec::new(), Vec::new());
        for path in json_file::paths_in(directory)? {
            match json_file::read::<Self>(&path) {
                Ok(record) => records.extend(record),
                Err(error) => damaged.push(error),
            }
        }
        records.sort_by(|one, other| one.slug.cmp(&other.slug));
        Ok((records, damaged))
    }
}

/// Returns whether both are known and different.
fn differ<T: PartialEq>(one: Option<&T>, other: Option<&T>) -> bool {
    one.zip(other).is_some_and(|(one, other)| one != other)
}

/// Prefix of the reasons of swarm's locks.
pub(crate) const OUR_LOCK: &str = "swarm: in use by ";

/// Returns the directory of the records of a repository, given its shared git directory.
pub(crate) fn records_of(common: &Path) -> PathBuf {
    common.join("swarm/worktrees")
}

/// The commit that a worktree is based on, compared with the upstream branch.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Base {
    /// The commit.
    pub sha: String,
    /// The branch of the caller's checkout, if one was checked out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// The upstream of that branch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub upstream: Option<String>,
    /// Number of commits that are not in the upstream, as last fetched.
    #[serde(default)]
    pub ahead: u64,
    /// Number of commits of the upstream, as last fetched, that are missing.
    #[serde(default)]
    pub behind: u64,
    /// The caller's HEAD, if the base is a snapshot of uncommitted changes on top of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub snapshot_of: Option<String>,
}

impl Base {
    /// Returns a description: `1a2b3c4d5e6f (main, 2 ahead of and 1 behind origin/main)`.
    pub fn describe(&self) -> String {
        if self.sha.is_empty() {
            return "no commit".to_owned();
        }
        let relation = match (&self.branch, &self.upstream) {
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
            None => format!("{} ({relation})", short(&self.sha)),
            Some(head) => format!(
                "{} (uncommitted changes on {}; {relation})",
                short(&self.sha),
                short(head)
            ),
        }
    }
}

/// Abbreviates an object id to 12 characters.
pub(crate) fn short(sha: &str) -> &str {
    sha.get(..12).unwrap_or(sha)
}

/// A copied file or directory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Carried {
    /// Path relative to the checkout.
    pub path: PathBuf,
    /// The method: `copy`, `reflink` or `symlink`.
    pub how: String,
}
