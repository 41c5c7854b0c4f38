//! Ending a team.

use std::path::{Path, PathBuf};

use swarm_os::{Liveness, OsError};
use swarm_protocol::{Event, LEAD_NAME, Member, MemberName, Reservation, TeamConfig};
use uuid::Uuid;

use crate::file_team::{FileTeam, is_surely_there, is_there};
use crate::layout::TeamLayout;
use crate::{Result, StoreError, process};

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
        swarm_os::remove_tree(removed.at.directory())?;
        if purge {
            swarm_os::remove_tree(removed.at.tasks())?;
        }
        Ok(archive)
    }

    /// Takes the sidecars alone where they exclude: the lock directory of a data file moves with the directory that it is
    /// in, and cannot be let go of. Another program that is writing finds its file gone.
    fn take_down(&self, archive: Option<&Path>, force: bool) -> Result<Self> {
        // What was cut short is completed, and a missing list made, so that there is one to move.
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
                // Also on a disk that is full: this is how room is made.
                self.record_done([Event::TeamDeleted {
                    by: LEAD_NAME.to_owned(),
                }]);
                self.move_away(archive)
            })
        })
    }

    /// A lead would go on without its team, so that force is no reason.
    pub(crate) fn refuse_deletion(&self, config: &TeamConfig, force: bool) -> Result<()> {
        self.refuse_if_led(Some(config))?;
        if force {
            Ok(())
        } else {
            self.refuse_if_busy(config)
        }
    }

    fn without_flock(&self, data: PathBuf) -> Vec<PathBuf> {
        if self.store.lock_options.directory_only {
            vec![data]
        } else {
            Vec::new()
        }
    }

    /// Moves the task list first and the team last: killed in between, the team is still there to be deleted again.
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

    fn refuse_if_busy(&self, config: &TeamConfig) -> Result<()> {
        let mut members: Vec<MemberName> = Vec::new();
        let mut reasons = Vec::new();
        for member in config.teammates() {
            let reserved = member
                .swarm
                .as_ref()
                .and_then(|mark| mark.reservation.as_ref());
            let running = |spawn: &Reservation| {
                process::is_running(spawn.spawner_pid, &spawn.spawner_start) != Some(false)
            };
            let reason = match (reserved, self.life_of(member)?) {
                (Some(spawn), _) if running(spawn) => Some("is being spawned".to_owned()),
                (_, Liveness::Alive) => Some(self.is_at(member)),
                (Some(_), _) | (None, Liveness::Dead) => None,
                // Of another program's member only its own word is known.
                (None, Liveness::Foreign) => (member.is_active != Some(false))
                    .then(|| "belongs to another program and reports that it is active".to_owned()),
            };
            if let Some(reason) = reason {
                members.push(member.name.clone());
                reasons.push(format!("{} {reason}", member.name));
            }
        }
        if members.is_empty() {
            Ok(())
        } else {
            Err(StoreError::TeamBusy {
                team: self.team.clone(),
                members,
                reasons,
            })
        }
    }

    /// What a live member is doing, by its own last report.
    fn is_at(&self, member: &Member) -> String {
        let report = self.state(&member.name).ok().flatten();
        let report = report.filter(|report| Some(report.spawn_id) == member.spawn_id());
        report.map_or_else(
            || "lives".to_owned(),
            |report| format!("lives ({})", report.state.name()),
        )
    }

    /// An empty directory for what is left of the team.
    fn make_archive(&self, force: bool) -> Result<PathBuf> {
        self.refuse_if_gone(force)?;
        self.new_archive()
    }

    /// A roster makes a team. What is left of one whose roster is gone goes by force.
    pub(crate) fn refuse_if_gone(&self, force: bool) -> Result<()> {
        if self.exists() || (force && is_there(self.at.directory())) {
            Ok(())
        } else {
            Err(self.not_found())
        }
    }

    /// The archive of a team that was being deleted when it was moved away: the last one that has tasks and lacks something. A
    /// new one where there is none.
    pub(super) fn half_archive(&self) -> Result<PathBuf> {
        let archives = self.store.layout.archives();
        let names = swarm_os::names_in(&archives)?.unwrap_or_default();
        let mut begun: Vec<PathBuf> = names
            .iter()
            .filter(|name| self.is_of_this_team(&name.to_string_lossy()))
            .map(|name| archives.join(name))
            .filter(|archive| is_there(&archive.join("tasks")))
            .filter(|archive| {
                kept_parts(&self.at)
                    .iter()
                    .any(|(_, name)| !is_there(&archive.join(name)))
            })
            .collect();
        begun.sort();
        begun.pop().map_or_else(|| self.new_archive(), Ok)
    }

    /// Whether an archive has this team's name and a time, and not the name of a team that begins as this one's does.
    fn is_of_this_team(&self, archive: &str) -> bool {
        let behind = archive.strip_prefix(self.team.as_str());
        let time = behind.and_then(|rest| rest.strip_prefix('-'));
        time.is_some_and(|time| time.ends_with('Z') && time.matches('-').count() == 2)
    }

    /// An empty directory of a name of its own, whether or not the team is still there.
    pub(super) fn new_archive(&self) -> Result<PathBuf> {
        let archives = self.store.layout.archives();
        swarm_os::place_private_dir(&archives)?.sync()?;
        let mut at = self.now();
        loop {
            // Colons would have to be quoted in every shell.
            let time = at.iso().as_str().replace(':', "");
            let archive = archives.join(format!("{}-{time}", self.team));
            match swarm_os::create_private_dir(&archive) {
                Err(OsError::Exists { .. }) => at.0 += 1,
                made => {
                    made?;
                    swarm_os::made_in([archives.as_path()])?.sync()?;
                    return Ok(archive);
                }
            }
        }
    }
}

/// What is kept of a team beside its tasks: where it is, and its name in the archive.
pub(super) fn kept_parts(at: &TeamLayout) -> [(PathBuf, &'static str); 3] {
    [
        (at.journal(), "journal.jsonl"),
        (at.config(), "config.json"),
        (at.inboxes(), "inboxes"),
    ]
}

/// Moves what is kept into an archive. What is there already, from an attempt that was cut short, stays.
pub(super) fn keep_all(at: &TeamLayout, archive: &Path) -> Result<()> {
    for (from, name) in kept_parts(at) {
        if is_surely_there(&from)? {
            swarm_os::rename_no_replace(&from, &archive.join(name))?;
        }
    }
    Ok(())
}

/// Removes a directory that has served its purpose: the archive of a team that was not deleted after all, or a lock
/// directory that moved. One that is not empty stays.
fn drop_if_empty(directory: &Path) {
    if let Err(error) = std::fs::remove_dir(directory) {
        tracing::debug!(path = %directory.display(), %error, "directory kept");
    }
}
