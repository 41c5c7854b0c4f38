//! Who works in a worktree at this moment.

use std::fs;
use std::path::Path;

use swarm_fs::{Liveness, probe, read_optional};
use swarm_protocol::LifeRecord;

use crate::{Owner, ProcessMark, Record};

/// Who works in a worktree, in words: its owner by its life lock, the process that was given it, or any process whose
/// working folder is in it. `Err` when that cannot be known.
pub(crate) fn user_of(record: &Record) -> Result<Option<String>, String> {
    if record.in_use {
        if owner_lives(&record.owner)? {
            return Ok(Some(record.owner.describe()));
        }
        if let Some(process) = record.process.as_ref().filter(|process| runs(process)) {
            return Ok(Some(format!(
                "{} (process {})",
                record.owner.describe(),
                process.pid
            )));
        }
    }
    Ok(process_in(&record.path))
}

fn owner_lives(owner: &Owner) -> Result<bool, String> {
    let Some(life) = &owner.life else {
        return Ok(false);
    };
    match probe(life) {
        Ok(Liveness::Dead | Liveness::Foreign) => return Ok(false),
        Ok(Liveness::Alive) => {}
        Err(error) => return Err(error.to_string()),
    }
    let content = read_optional(life).map_err(|error| error.to_string())?;
    let living = content.and_then(|bytes| serde_json::from_slice::<LifeRecord>(&bytes).ok());
    // A namesake of another spawn may live elsewhere; one whose file cannot be read may be this one.
    Ok(match (living, owner.spawn_id) {
        (Some(living), Some(spawn)) => living.spawn_id == spawn,
        _ => true,
    })
}

fn runs(process: &ProcessMark) -> bool {
    let stat = fs::read_to_string(format!("/proc/{}/stat", process.pid)).unwrap_or_default();
    // The program's name is in parentheses and may hold any character; the start time is field 22, see proc_pid_stat(5).
    let mut after = stat
        .rsplit_once(')')
        .map(|(_, after)| after.split_ascii_whitespace())
        .into_iter()
        .flatten();
    let ended = matches!(after.next(), Some("Z" | "X") | None);
    !ended && after.nth(18) == Some(process.start.as_str())
}

/// A process that has its working folder in here, other than this one. Where the kernel does not tell, nobody is found.
fn process_in(path: &Path) -> Option<String> {
    let path = path.canonicalize().ok()?;
    let own = std::process::id().to_string();
    let entries = fs::read_dir("/proc").ok()?;
    entries.flatten().find_map(|entry| {
        let pid = entry.file_name().into_string().ok()?;
        if pid == own || !pid.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let cwd = fs::read_link(entry.path().join("cwd")).ok()?;
        if !cwd.starts_with(&path) {
            return None;
        }
        let name = fs::read_to_string(entry.path().join("comm")).unwrap_or_default();
        Some(format!("process {pid} ({})", name.trim().escape_debug()))
    })
}
