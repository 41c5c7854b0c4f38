//! Leftovers of killed processes among the files of teams: directories of partially created or
//! deleted teams, order files without a child, temporary files, empty directories.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use swarm_protocol::{SpawnId, TeamName};
use uuid::Uuid;

use super::delete::{keep_all, kept_parts};
use crate::file::team::{is_surely_there, is_there};
use crate::{FileStore, Leftover, Result, StoreError};

/// Minimum age of a temporary file before it is removed. Writers need milliseconds; a suspended
/// writer loses its lock and writes nothing.
const TEMPORARY_AGE: Duration = Duration::from_hours(1);

impl FileStore {
    /// Finds leftovers and removes them with `clear`. Returns for each whether it could be removed.
    pub(crate) fn sweep(&self, clear: bool) -> Result<Vec<(Leftover, Result<()>)>> {
        let mut found = Vec::new();
        let own = self.layout.own();
        let (below_own, conversations) = (directories_in(&own), self.conversations());
        for directory in [self.layout.root(), self.layout.sessions(), own]
            .into_iter()
            .chain(below_own)
            .chain(conversations)
        {
            found.extend(sweep_temporaries(&directory, clear)?);
        }
        if !is_there(&self.layout.teams()) {
            return Ok(found);
        }
        // Creating or deleting a team requires this lock, so none is in progress.
        self.with_teams_lock(|| {
            for directory in [self.layout.teams(), self.layout.all_tasks()] {
                for (path, what) in unfinished(&directory) {
                    let removed = if clear {
                        self.remove_unfinished(&path)
                    } else {
                        Ok(())
                    };
                    found.push((Leftover { path, what }, removed));
                }
            }
            Ok(())
        })?;
        for team in self.team_names()? {
            // Directories of other programs have no leftovers of swarm.
            if self.files(&team).is_foreign() {
                continue;
            }
            match self.sweep_team(&team, clear) {
                Ok(of_team) => found.extend(of_team),
                // Deleted meanwhile, or unreadable: nothing in it is known to be a leftover.
                Err(StoreError::TeamNotFound { .. } | StoreError::Damaged { .. }) => {}
                // The other teams are not affected.
                Err(error) => {
                    let path = self.files(&team).at.directory().to_owned();
                    let what = "a team that could not be searched for leftovers";
                    found.push((Leftover { path, what }, Err(error)));
                }
            }
        }
        Ok(found)
    }

    /// Returns the directories of transcripts and of what is kept next to each.
    fn conversations(&self) -> Vec<PathBuf> {
        let mut directories = directories_in(&self.layout.root().join("projects"));
        let of_one = directories
            .iter()
            .flat_map(|project| directories_in(project));
        directories.extend(of_one.collect::<Vec<_>>());
        directories
    }

    /// Moves the remaining files of a partially deleted team to its archive. If the team was to be
    /// kept, its tasks were moved first.
    fn remove_unfinished(&self, path: &Path) -> Result<()> {
        let name = path.file_name().and_then(|name| name.to_str());
        let team = name.and_then(|name| name.split_once(".deleted-"));
        if let (Some(name), Some((team, _))) = (name, team)
            && let Ok(team) = TeamName::parse(team)
        {
            let files = self.files(&team);
            let at = files.at.moved_to(path.to_owned());
            // If its tasks are still here, the team was to be purged.
            let is_purged = is_surely_there(&self.layout.all_tasks().join(name))?;
            if !is_purged && kept_parts(&at).iter().any(|(part, _)| is_there(part)) {
                keep_all(&at, &files.half_archive()?)?;
            }
        }
        Ok(swarm_os::remove_tree(path)?)
    }

    fn sweep_team(&self, team: &TeamName, clear: bool) -> Result<Vec<(Leftover, Result<()>)>> {
        let files = self.files(team);
        let members = names_in(&files.at.members());
        let orders: Vec<(PathBuf, SpawnId)> = members
            .iter()
            .flat_map(|name| orders_in(&files.at.members().join(name)))
            .collect();
        // Read after the orders: a reservation is created before its order, and removed when the
        // order is read or undone.
        let config = files.config()?;
        let reserved: HashSet<SpawnId> = config
            .teammates()
            .filter_map(|member| member.swarm.as_ref())
            .filter(|mark| mark.reservation.is_some())
            .map(|mark| mark.spawn_id)
            .collect();
        let mut found = Vec::new();
        for (path, spawn_id) in orders {
            if !reserved.contains(&spawn_id) {
                let removed = if clear { remove_file(&path) } else { Ok(()) };
                let what = "the order file of an abandoned spawn, which contains keys";
                found.push((Leftover { path, what }, removed));
            }
        }
        let shared = [
            files.at.directory().to_owned(),
            files.at.inboxes(),
            files.at.own(),
            files.at.archive(),
            files.at.requests(),
            files.at.tasks().to_owned(),
        ];
        let own = members.iter().map(|name| files.at.members().join(name));
        for directory in shared.into_iter().chain(own) {
            found.extend(sweep_temporaries(&directory, clear)?);
        }
        found.extend(self.sweep_member_directories(team, clear)?);
        Ok(found)
    }

    /// Empty directories of members that are not in the roster. Requires the roster's lock, since a
    /// spawn creates the directory before it fills it.
    fn sweep_member_directories(
        &self,
        team: &TeamName,
        clear: bool,
    ) -> Result<Vec<(Leftover, Result<()>)>> {
        let files = self.files(team);
        files.with_roster_lock(|_held| {
            let config = files.read_config()?;
            let known: HashSet<String> = config
                .names()
                .into_iter()
                .map(|name| name.to_string())
                .collect();
            let mut found = Vec::new();
            for name in names_in(&files.at.members()) {
                let path = files.at.members().join(&name);
                let is_empty = fs::read_dir(&path).is_ok_and(|mut inside| inside.next().is_none());
                if known.contains(&name) || !is_empty {
                    continue;
                }
                let removed = if clear {
                    fs::remove_dir(&path).map_err(|source| io(&path, source))
                } else {
                    Ok(())
                };
                let what = "the empty directory of a former member";
                found.push((Leftover { path, what }, removed));
            }
            Ok(found)
        })
    }
}

/// Temporary files of killed processes, from replacing files or probing the file system.
fn sweep_temporaries(directory: &Path, clear: bool) -> Result<Vec<(Leftover, Result<()>)>> {
    let stale = swarm_os::stale_temporaries(directory, TEMPORARY_AGE)?.into_iter();
    let swept = stale.map(|path| {
        let removed = if clear { remove(&path) } else { Ok(()) };
        let what = "a temporary file of a killed process";
        (Leftover { path, what }, removed)
    });
    Ok(swept.collect())
}

/// Directories whose names mark them as partially created or deleted.
fn unfinished(directory: &Path) -> Vec<(PathBuf, &'static str)> {
    let mut found = Vec::new();
    for name in names_in(directory) {
        let made = name
            .strip_prefix('.')
            .and_then(|name| name.split_once(".new-"));
        let deleted = name.split_once(".deleted-");
        let (team, id, what) = match (made, deleted) {
            (Some((team, id)), _) => (team, id, "a partially created team"),
            (None, Some((team, id))) => (team, id, "a partially deleted team"),
            (None, None) => continue,
        };
        // Only names in exactly this form: other programs keep their own files here.
        if TeamName::parse(team).is_ok() && Uuid::parse_str(id).is_ok() {
            found.push((directory.join(&name), what));
        }
    }
    found.sort();
    found
}

fn orders_in(directory: &Path) -> Vec<(PathBuf, SpawnId)> {
    let orders = names_in(directory).into_iter().filter_map(|name| {
        let spawn = name.strip_prefix("order-")?.strip_suffix(".json")?;
        Some((directory.join(&name), spawn.parse().ok()?))
    });
    orders.collect()
}

/// Returns the names in a directory; empty if it does not exist.
fn names_in(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect();
    names.sort();
    names
}

fn directories_in(directory: &Path) -> Vec<PathBuf> {
    let paths = names_in(directory)
        .into_iter()
        .map(|name| directory.join(name));
    paths
        .filter(|path| path.is_dir() && !path.is_symlink())
        .collect()
}

/// Removes a file or an empty directory.
fn remove(path: &Path) -> Result<()> {
    if path.is_dir() && !path.is_symlink() {
        return fs::remove_dir(path).map_err(|source| io(path, source));
    }
    remove_file(path)
}

fn remove_file(path: &Path) -> Result<()> {
    swarm_os::remove_if_present(path).map_err(|source| io(path, source))
}

fn io(path: &Path, source: std::io::Error) -> StoreError {
    StoreError::Fs(swarm_os::OsError::io(path, "remove", source))
}
