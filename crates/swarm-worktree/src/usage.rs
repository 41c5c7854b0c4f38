//! Finds agents and processes that use a worktree.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use swarm_os::process::{Process, arguments, pids, program_name, working_directory};
use swarm_os::read_optional;
use swarm_protocol::{AgentId, Hello, SpawnId, partial_debug};

use crate::{Owner, ProcessMark, Record};

/// A running member or lead. Its process cannot be inspected, so its recorded directory is used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Occupant {
    /// Description of the agent.
    pub who: String,
    /// The pid.
    pub pid: u32,
    /// The recorded working directory.
    pub cwd: PathBuf,
}

/// Looks up running members and leads of teams.
pub trait Occupants: Send + Sync {
    /// Returns all that run on this machine.
    fn here(&self) -> Vec<Occupant>;

    /// Returns whether this spawn of a member is running, here or elsewhere; with `None`, any spawn
    /// of it.
    ///
    /// # Errors
    /// Why it cannot be determined.
    fn is_running(&self, agent: &AgentId, spawn: Option<SpawnId>) -> Result<bool, String>;
}

/// The lookup, or none for callers that only list worktrees.
#[derive(Clone, Default)]
pub(crate) struct KnownOccupants(pub(crate) Option<Arc<dyn Occupants>>);

impl KnownOccupants {
    /// Returns a description of an occupant of this directory, ignoring the calling process.
    fn within(&self, directory: &Path) -> Option<String> {
        let directory = directory.canonicalize().ok()?;
        let is_here = |occupant: &Occupant| {
            let cwd = occupant.cwd.canonicalize();
            occupant.pid != std::process::id() && cwd.is_ok_and(|cwd| cwd.starts_with(&directory))
        };
        let found = self.0.as_ref()?.here().into_iter().find(is_here)?;
        Some(format!("{} (process {})", found.who, found.pid))
    }

    /// Returns whether the owner of a worktree is a running member.
    fn is_running(&self, owner: &Owner) -> Result<bool, String> {
        let agent = owner.member.clone().zip(owner.team.clone());
        match (&self.0, agent) {
            (Some(occupants), Some((member, team))) => {
                occupants.is_running(&AgentId::new(member, team), owner.spawn_id)
            }
            _ => Ok(false),
        }
    }
}

partial_debug!(KnownOccupants);

/// Returns a description of the user of a worktree: its holder, a member or lead whose recorded
/// directory is in it, or any process whose working directory is in it. Returns `Err` if it cannot
/// be determined.
pub(crate) fn user_of(
    record: &Record,
    occupants: &KnownOccupants,
) -> Result<Option<String>, String> {
    let user = holder(record, occupants)?.or_else(|| occupants.within(&record.path));
    Ok(user.or_else(|| process_in(&record.path)))
}

/// Returns a description of the holder of a worktree: its owner, or the process it is assigned to.
pub(crate) fn holder(
    record: &Record,
    occupants: &KnownOccupants,
) -> Result<Option<String>, String> {
    if record.in_use {
        if occupants.is_running(&record.owner)? {
            return Ok(Some(record.owner.describe()));
        }
        if let Some(process) = record
            .process
            .as_ref()
            .filter(|process| is_running(process))
        {
            return Ok(Some(format!(
                "{} (process {})",
                record.owner.describe(),
                process.pid
            )));
        }
    }
    Ok(None)
}

fn is_running(mark: &ProcessMark) -> bool {
    Process::running(mark.pid).is_some_and(|process| process.start.to_string() == mark.start)
}

/// Returns another process whose working directory is inside `path`. Processes whose directory is
/// unknown are ignored.
fn process_in(path: &Path) -> Option<String> {
    let path = path.canonicalize().ok()?;
    let others = pids().into_iter().filter(|pid| *pid != std::process::id());
    let mut within = others.filter(|pid| cwd_of(*pid).is_some_and(|cwd| cwd.starts_with(&path)));
    within.next().map(|pid| {
        let name = program_name(pid).unwrap_or_default();
        format!("process {pid} ({})", name.escape_debug())
    })
}

fn cwd_of(pid: u32) -> Option<PathBuf> {
    match working_directory(pid) {
        Err(error) if error.kind() == ErrorKind::PermissionDenied => {
            reported_cwd(&arguments(pid).ok()?, pid)
        }
        cwd => cwd.ok(),
    }
}

/// Returns the working directory that a teammate reported at its start, found by its arguments. Its
/// directory in `/proc` is not readable.
fn reported_cwd(words: &[u8], pid: u32) -> Option<PathBuf> {
    let words: Vec<&str> = std::str::from_utf8(words).ok()?.split('\0').collect();
    let after = |option: &str| {
        let at = words.iter().position(|word| *word == option)?;
        words.get(at + 1).copied()
    };
    let (root, agent) = (after("--root")?, after("--agent-id")?);
    let agent: AgentId = agent.parse().ok()?;
    let hello = Path::new(root)
        .join("teams")
        .join(agent.team.as_str())
        .join("swarm/members")
        .join(agent.name.as_str())
        .join("hello.json");
    let hello: Hello = serde_json::from_slice(&read_optional(&hello).ok()??).ok()?;
    // The directory was read from the kernel, so it contains no symbolic links.
    (hello.pid == pid).then_some(hello.cwd)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn the_working_directory_of_a_protected_teammate_is_the_reported_one() {
        let root = tempfile::tempdir().unwrap();
        let directory = root.path().join("teams/demo/swarm/members/bob");
        fs::create_dir_all(&directory).unwrap();
        let id = "5b0b7d0e-3f5c-4a5e-9d6e-0123456789ab";
        let hello = serde_json::json!({
            "spawnId": id, "pid": 7, "procStart": "1", "cwd": "/work/tree", "model": "m", "mode": "default", "tools": [],
            "sessionId": id, "version": "0.0.0",
        });
        swarm_os::replace_alone(&directory.join("hello.json"), hello.to_string().as_bytes())
            .unwrap();
        let root = root.path().display();
        let words =
            format!("swarm-teammate\0--agent-id\0bob@demo\0--spawn-id\0{id}\0--root\0{root}\0");
        let cwd = |pid| reported_cwd(words.as_bytes(), pid);
        assert_eq!(cwd(7), Some(PathBuf::from("/work/tree")));
        assert_eq!(
            cwd(8),
            None,
            "reported by an earlier process of the same name"
        );
        assert_eq!(reported_cwd(b"vim\0tree\0", 7), None);
    }
}
