//! Deleting a team.

use std::path::{Path, PathBuf};

use swarm_os::OsError;
use swarm_protocol::{Event, LEAD_NAME, TeamConfig};
use uuid::Uuid;

use crate::Result;
use crate::file::layout::TeamLayout;
use crate::file::team::{FileTeam, is_surely_there, is_there};
use crate::roster::refuse_if_busy;

impl FileTeam {
    pub(crate) fn delete_alone(&self, purge: bool, force: bool) -> Result<Option<PathBuf>> {
        let archive = if purge {
            None
        } else {
            Some(self.make_archive(force)?)
        };
        let removed = self.take_down(archive.as_deref(), force);
        if let (Err(_), Some(archive)) = (&removed, &archive) {
            drop_if_empty(archive);
        }
        let removed = removed?;
        if let Some(archive) = &archive {
            drop_if_empty(&archive.join("tasks").join(".lock.lock"));
            keep_all(&removed.at, archive)?;
        }
        self.take_scratchpad(archive.as_deref())?;
        swarm_os::remove_tree(removed.at.directory())?;
        if purge {
            swarm_os::remove_tree(removed.at.tasks())?;
        }
        Ok(archive)
    }

    /// Archives or removes the scratchpad: a later team of this name does not get its notes.
    fn take_scratchpad(&self, archive: Option<&Path>) -> Result<()> {
        let scratchpad = self.store.layout.scratchpad(&self.team);
        if !is_surely_there(&scratchpad)? {
            return Ok(());
        }
        match archive {
            Some(archive) => {
                let kept = archive.join("scratchpad");
                swarm_os::rename_no_replace(&scratchpad, &kept)?;
                drop_if_empty(&kept);
            }
            None => swarm_os::remove_tree(&scratchpad)?,
        }
        Ok(())
    }

    /// Takes only the sidecar locks if they provide exclusion: the lock directory of a data file
    /// moves with its directory and cannot be released. Another program that is writing finds its
    /// file gone.
    fn take_down(&self, archive: Option<&Path>, force: bool) -> Result<Self> {
        // An interrupted write is completed, and a missing task list is created, so that there is
        // one to move.
        self.with_list_lock(|_held| Ok(()))?;
        let roster = self.without_flock(self.at.config());
        let list = self.without_flock(self.at.list_file());
        self.locked(&self.at.config_lock(), &roster, |_held| {
            match self.read_config() {
                Ok(config) => self.refuse_deletion(&config, force)?,
                Err(_) if force => self.refuse_if_led(None)?,
                Err(error) => return Err(error),
            }
            self.locked(&self.at.tasks_lock(), &list, |_held| {
                // Also on a full disk: deleting frees space.
                self.record_done([Event::TeamDeleted {
                    by: LEAD_NAME.to_owned(),
                }]);
                self.move_away(archive)
            })
        })
    }

    /// A running lead would lose its team, so `force` does not apply.
    pub(crate) fn refuse_deletion(&self, config: &TeamConfig, force: bool) -> Result<()> {
        self.refuse_if_led(Some(config))?;
        if force {
            Ok(())
        } else {
            refuse_if_busy(
                &self.team,
                config,
                |member| self.life_of(member),
                |name| self.state(name),
            )
        }
    }

    fn without_flock(&self, data: PathBuf) -> Vec<PathBuf> {
        if self.store.lock_options.directory_only {
            vec![data]
        } else {
            Vec::new()
        }
    }

    /// Moves the task list first and the team last: if killed in between, the team still exists and
    /// can be deleted again.
    fn move_away(&self, archive: Option<&Path>) -> Result<Self> {
        let unique = Uuid::new_v4();
        let name = format!("{}.deleted-{unique}", self.team);
        let mut at = self.at.moved_to(self.store.layout.teams().join(&name));
        let tasks = match archive {
            Some(archive) => archive.join("tasks"),
            None => self.store.layout.all_tasks().join(&name),
        };
        swarm_os::rename_no_replace(self.at.tasks(), &tasks)?;
        at = at.with_tasks(tasks);
        swarm_os::rename_no_replace(self.at.directory(), at.directory())?;
        Ok(Self {
            store: self.store.clone(),
            team: self.team.clone(),
            at,
            is_aside: false,
        })
    }

    /// Returns an empty directory for the remains of the team.
    fn make_archive(&self, force: bool) -> Result<PathBuf> {
        self.refuse_if_gone(force)?;
        self.new_archive()
    }

    /// Only a directory with a roster is a team. Remains without a roster are deleted with `force`.
    pub(crate) fn refuse_if_gone(&self, force: bool) -> Result<()> {
        if self.exists() || (force && is_there(self.at.directory())) {
            Ok(())
        } else {
            Err(self.not_found())
        }
    }

    /// Returns the archive of a partially deleted team: the last one that has tasks and is
    /// incomplete, or a new one.
    pub(super) fn half_archive(&self) -> Result<PathBuf> {
        let archives = self.store.layout.archives();
        let names = swarm_os::names_in(&archives)?.unwrap_or_default();
        let mut begun: Vec<PathBuf> = names
            .iter()
            .filter(|name| self.is_of_this_team(&name.to_string_lossy()))
            .map(|name| archives.join(name))
            .filter(|archive| is_there(&archive.join("tasks")))
            .filter(|archive| {
                // A team without model requests has no costs.
                kept_parts(&self.at)
                    .iter()
                    .take(3)
                    .any(|(_, name)| !is_there(&archive.join(name)))
            })
            .collect();
        begun.sort();
        begun.pop().map_or_else(|| self.new_archive(), Ok)
    }

    /// Returns whether an archive belongs to this team, and not to one whose name starts with this
    /// name.
    fn is_of_this_team(&self, archive: &str) -> bool {
        let behind = archive.strip_prefix(self.team.as_str());
        let time = behind.and_then(|rest| rest.strip_prefix('-'));
        time.is_some_and(|time| time.ends_with('Z') && time.matches('-').count() == 2)
    }

    /// Creates an empty directory with a unique name, whether or not the team still exists.
    pub(super) fn new_archive(&self) -> Result<PathBuf> {
        let archives = self.store.layout.archives();
        swarm_os::place_private_dir(&archives)?.sync()?;
        let mut at = self.now();
        loop {
            // Colons would have to be quoted in every shell.
            let time = at.iso().as_str().replace(':', "");
            let archive = archives.join(format!("{}-{time}", self.team));
            match swarm_os::create_private_dir(&archive) {
                Err(OsError::Exists(_)) => at.0 += 1,
                made => {
                    made?;
                    swarm_os::made_in([archives.as_path()])?.sync()?;
                    return Ok(archive);
                }
            }
        }
    }
}

/// Files of a team that are archived with its tasks: their paths and names in the archive.
pub(super) fn kept_parts(at: &TeamLayout) -> [(PathBuf, &'static str); 4] {
    [
        (at.journal(), "journal.jsonl"),
        (at.config(), "config.json"),
        (at.inboxes(), "inboxes"),
        (at.costs(), "cost.jsonl"),
    ]
}

/// Moves the kept files into an archive. Files from an interrupted attempt stay.
pub(super) fn keep_all(at: &TeamLayout, archive: &Path) -> Result<()> {
    for (from, name) in kept_parts(at) {
        if is_surely_there(&from)? {
            swarm_os::rename_no_replace(&from, &archive.join(name))?;
        }
    }
    Ok(())
}

/// Removes an empty directory: the archive of a team that was not deleted, a moved lock directory,
/// or a scratchpad.
fn drop_if_empty(directory: &Path) {
    if let Err(error) = std::fs::remove_dir(directory) {
        tracing::debug!(path = %directory.display(), %error, "directory kept");
    }
}
