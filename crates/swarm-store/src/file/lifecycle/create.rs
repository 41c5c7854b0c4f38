//! Creating a team: built in a temporary directory, then renamed into place.

use std::path::Path;

use swarm_os::{LockPlan, OsError};
use swarm_protocol::{Event, MemberName, TeamConfig, TeamName, sanitized_collision};
use uuid::Uuid;

use crate::file::keys::create_keys;
use crate::file::layout::TeamLayout;
use crate::file::record;
use crate::file::team::{FileTeam, is_there};
use crate::{FileStore, NewTeam, Result, StoreError};

impl FileStore {
    pub(crate) fn create(&self, new: NewTeam) -> Result<TeamConfig> {
        for directory in [self.layout.teams(), self.layout.all_tasks()] {
            swarm_os::place_private_dir(&directory)?.sync()?;
        }
        self.with_teams_lock(|| {
            self.refuse_collision(&new.name)?;
            self.build(new)
        })
    }

    /// Runs `work` with the lock for creating and deleting teams. It is taken before any lock of a
    /// team.
    pub(crate) fn with_teams_lock<T>(&self, work: impl FnOnce() -> Result<T>) -> Result<T> {
        let lock = self.layout.teams_lock();
        if let Some(directory) = lock.parent() {
            swarm_os::ensure_private_dir(directory)?;
        }
        swarm_os::create_sidecar(&lock)?;
        let plan = LockPlan {
            sidecar: &lock,
            data: std::slice::from_ref(&lock),
        };
        swarm_os::with_lock(&plan, &self.lock_options, |_held| work())
    }

    pub(crate) fn refuse_collision(&self, name: &TeamName) -> Result<()> {
        let files = self.files(name);
        if is_there(files.at.directory()) {
            return Err(StoreError::TeamExists {
                team: name.clone(),
                state: files.in_words(),
            });
        }
        for directory in [self.layout.teams(), self.layout.all_tasks()] {
            for other in names_in(&directory)? {
                if other != name.as_str() && sanitized_collision(&other, name.as_str()) {
                    return Err(StoreError::TeamCollides {
                        team: name.clone(),
                        other,
                    });
                }
            }
        }
        if is_there(files.at.tasks()) && !files.read_all_tasks()?.is_empty() {
            return Err(StoreError::TasksInTheWay(files.at.tasks().to_owned()));
        }
        Ok(())
    }

    fn build(&self, new: NewTeam) -> Result<TeamConfig> {
        let name = new.name.clone();
        let by = new.created_by.clone();
        let files = self.files(&name);
        let aside = self
            .layout
            .teams()
            .join(format!(".{name}.new-{}", Uuid::new_v4()));
        let built = self.build_aside(&files, &aside, new).and_then(|config| {
            swarm_os::place_private_dir(files.at.tasks())?.sync()?;
            match swarm_os::rename_no_replace(&aside, files.at.directory()) {
                Ok(()) => Ok(config),
                Err(OsError::Exists(_)) => Err(StoreError::TeamExists {
                    team: name.clone(),
                    state: files.in_words(),
                }),
                Err(error) => Err(error.into()),
            }
        });
        if built.is_err()
            && let Err(error) = swarm_os::remove_tree(&aside)
        {
            tracing::warn!(team = %name, %error, "cannot remove a partially created team");
        }
        if built.is_ok() {
            // Recorded before the team existed, so observers were not notified yet.
            self.notify_observer(&name, &Event::TeamCreated { by });
        }
        built
    }

    fn build_aside(&self, files: &FileTeam, aside: &Path, new: NewTeam) -> Result<TeamConfig> {
        let at = files.at.moved_to(aside.to_owned());
        let lead = MemberName::lead();
        for directory in [
            at.directory().to_owned(),
            at.inboxes(),
            at.own(),
            at.locks(),
            at.members(),
            at.member(&lead),
            at.requests(),
            at.archive(),
        ] {
            swarm_os::create_private_dir(&directory)?;
        }
        for sidecar in [
            at.config_lock(),
            at.tasks_lock(),
            at.requests_lock(),
            at.inbox_lock(&lead),
        ] {
            swarm_os::create_sidecar(&sidecar)?;
        }
        create_keys(&at)?;
        let config = new.roster(self.clock.now());
        write_config(&at, &config)?;
        let aside = FileTeam {
            store: self.clone(),
            team: files.team.clone(),
            at,
            is_aside: true,
        };
        let entered = aside.enter([Event::TeamCreated { by: new.created_by }])?;
        // Its other directories are flushed with the keys, the roster and the journal.
        let (locks, members) = (aside.at.locks(), aside.at.members());
        let made = swarm_os::made_in([locks.as_path(), members.as_path()])?;
        entered.and(made).sync()?;
        Ok(config)
    }
}

impl FileTeam {
    /// Describes the state of an existing team, as a clause.
    fn in_words(&self) -> String {
        match self.view() {
            Ok(view) => view.in_words(),
            Err(_) => "its roster cannot be read".to_owned(),
        }
    }
}

fn write_config(at: &TeamLayout, config: &TeamConfig) -> Result<()> {
    let path = at.config();
    Ok(swarm_os::replace_alone(
        &path,
        &record::pretty(&path, config)?,
    )?)
}

/// Returns the names in a directory, except hidden ones.
fn names_in(directory: &Path) -> Result<Vec<String>> {
    let names = swarm_os::names_in(directory)?.unwrap_or_default();
    let names = names.into_iter().filter_map(|name| name.into_string().ok());
    Ok(names.filter(|name| !name.starts_with('.')).collect())
}
