//! Scratchpads that no team uses any more.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use swarm_protocol::TeamName;
use swarm_store::{BlockOn as _, TeamStore};

/// Age after which an unused scratchpad is removed: people may still read the notes of a run.
const AGE: Duration = Duration::from_hours(30 * 24);

/// Returns the scratchpads below the state directory that belong to no team, and in which nothing
/// has changed for 30 days. Those that cannot be read are left out.
pub(super) fn stale_scratchpads(
    store: &dyn TeamStore,
    teams: &[TeamName],
    root: &Path,
    now: SystemTime,
) -> Vec<PathBuf> {
    let mut used: Vec<String> = teams.iter().map(ToString::to_string).collect();
    for team in teams {
        match store.team(team).config().block_on() {
            Ok(config) => used.extend(config.lead_session_id),
            // Its scratchpad is not known.
            Err(_) => return Vec::new(),
        }
    }
    let Ok(entries) = fs::read_dir(root.join("scratchpad")) else {
        return Vec::new();
    };
    let is_unused = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        !used.iter().any(|one| *one == name)
    };
    let is_old = |path: &PathBuf| {
        let changed = last_change(path);
        let age = changed.map(|changed| now.duration_since(changed).unwrap_or_default());
        age.is_ok_and(|age| age > AGE)
    };
    let paths = entries.flatten().map(|entry| entry.path());
    paths.filter(is_unused).filter(is_old).collect()
}

/// Returns the time of the last change in a directory. Symbolic links are not followed.
fn last_change(path: &Path) -> io::Result<SystemTime> {
    let found = path.symlink_metadata()?;
    let mut last = found.modified()?;
    if found.is_dir() {
        for entry in fs::read_dir(path)? {
            last = last.max(last_change(&entry?.path())?);
        }
    }
    Ok(last)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use swarm_protocol::{PERSON, SystemClock};
    use swarm_store::{FileStore, NewTeam};

    use super::*;

    #[test]
    fn only_old_scratchpads_without_a_team_are_stale() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        let store = FileStore::new(root.to_owned(), Arc::new(SystemClock));
        let team = TeamName::parse("demo").unwrap();
        let new = NewTeam {
            lead_session_id: Some("session".to_owned()),
            ..NewTeam::new(team.clone(), "/", PERSON)
        };
        store.create_team(new).block_on().unwrap();
        for name in ["demo", "session", "gone"] {
            fs::create_dir_all(root.join("scratchpad").join(name).join("notes")).unwrap();
        }
        let stale = |days: u64| {
            let now = SystemTime::now() + Duration::from_hours(24 * days);
            stale_scratchpads(&store, std::slice::from_ref(&team), root, now)
        };
        assert!(stale(29).is_empty());
        assert_eq!(stale(31), [root.join("scratchpad/gone")]);
    }
}
