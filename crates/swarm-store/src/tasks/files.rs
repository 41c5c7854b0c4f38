//! Task files one by one and all together.

use std::fs;
use std::path::{Path, PathBuf};

use swarm_fs::{FsError, Held};
use swarm_protocol::{Task, TaskId};

use super::TaskList;
use crate::team_files::{TeamFiles, is_there};
use crate::{BrokenFile, Result, StoreError};

impl TeamFiles<'_> {
    pub(crate) fn tasks(&self) -> Result<TaskList> {
        let list = self.look_at_tasks()?;
        // Another program writes in place: what was seen may be half of something. The same goes for several files of
        // ours that are written together. Under the locks nobody writes.
        let settled = list.broken.is_empty() && !is_there(&self.at.tasks_redo());
        if settled || !is_there(&self.at.tasks_lock()) {
            return Ok(list);
        }
        self.with_list_lock(|held| {
            let broken: Vec<TaskId> = self
                .look_at_tasks()?
                .broken
                .iter()
                .filter_map(|broken| id_of(&broken.path))
                .collect();
            self.with_task_locks(held, &broken, || self.look_at_tasks())
        })
    }

    pub(crate) fn task(&self, id: TaskId) -> Result<Task> {
        let list = self.tasks()?;
        self.require_task(&list, id).cloned()
    }

    /// A task of a list.
    ///
    /// # Errors
    /// [`StoreError::TaskNotFound`], or [`StoreError::Damaged`] when its file is no task.
    pub(super) fn require_task<'l>(&self, list: &'l TaskList, id: TaskId) -> Result<&'l Task> {
        if let Some(task) = list.get(id) {
            return Ok(task);
        }
        let path = self.at.task(id);
        match list.broken.iter().find(|broken| broken.path == path) {
            Some(broken) => Err(broken.clone().into()),
            None => Err(StoreError::TaskNotFound {
                team: self.team.clone(),
                id,
            }),
        }
    }

    /// Holds the task list. May be held while taking an inbox. A write of several files that was cut short is
    /// completed first.
    pub(crate) fn with_list_lock<T>(&self, work: impl FnOnce(&Held) -> Result<T>) -> Result<T> {
        self.locked(&self.at.tasks_lock(), &[], |held| {
            // The lock proves that the team is there; its list may have been cleared away by hand.
            swarm_fs::ensure_private_dir(self.at.tasks())?;
            let list = self.at.list_file();
            // Claude Code can only lock a file that exists.
            match swarm_fs::create_private_file(&list) {
                Err(error) if !matches!(error, FsError::Exists { .. }) => return Err(error.into()),
                _ => {}
            }
            held.also(&list, |held| {
                self.complete_redo(held)?;
                work(held)
            })
        })
    }

    /// Takes the locks of tasks, under that of the list. `ids` must be ascending.
    pub(super) fn with_task_locks<'w, T>(
        &self,
        held: &Held,
        ids: &[TaskId],
        work: impl FnOnce() -> Result<T> + 'w,
    ) -> Result<T> {
        self.lock_each(held, ids, Box::new(work))
    }

    /// One lock inside the other. The work is boxed, or else each depth would need a type of its own.
    fn lock_each<T>(
        &self,
        held: &Held,
        ids: &[TaskId],
        work: Box<dyn FnOnce() -> Result<T> + '_>,
    ) -> Result<T> {
        match ids.split_first() {
            None => work(),
            Some((id, rest)) => {
                held.also(&self.at.task(*id), |held| self.lock_each(held, rest, work))
            }
        }
    }

    /// Reads the whole folder.
    pub(crate) fn look_at_tasks(&self) -> Result<TaskList> {
        let mut list = TaskList::default();
        let folder = self.at.tasks();
        let entries = match fs::read_dir(folder) {
            Ok(entries) => entries,
            Err(_) if !self.exists() => return Err(self.not_found()),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(list),
            Err(source) => {
                return Err(StoreError::Fs(FsError::Io {
                    path: folder.to_owned(),
                    op: "list",
                    source,
                }));
            }
        };
        let mut ids: Vec<TaskId> = entries
            .flatten()
            .filter_map(|entry| id_of(Path::new(&entry.file_name())))
            .collect();
        ids.sort_unstable();
        for id in ids {
            match self.look_at_task(id)? {
                Some(Ok(task)) => list.tasks.push(task),
                Some(Err(broken)) => list.broken.push(broken),
                // Deleted meanwhile.
                None => {}
            }
        }
        Ok(list)
    }

    /// Reads one file; `None` if there is none.
    pub(super) fn look_at_task(&self, id: TaskId) -> Result<Option<Result<Task, BrokenFile>>> {
        let path = self.at.task(id);
        let bytes = match swarm_fs::read_optional(&path) {
            Ok(Some(bytes)) => bytes,
            Ok(None) => return Ok(None),
            Err(FsError::NotOurs { path, why }) => {
                let reason = why.to_owned();
                return Ok(Some(Err(BrokenFile { path, reason })));
            }
            Err(error) => return Err(error.into()),
        };
        Ok(Some(parse(path, id, &bytes)))
    }

    /// The highest number in the folder, whatever the files hold.
    pub(super) fn highest_number(&self) -> Result<u64> {
        let entries = fs::read_dir(self.at.tasks()).map_err(|source| FsError::Io {
            path: self.at.tasks().to_owned(),
            op: "list",
            source,
        })?;
        let numbers = entries
            .flatten()
            .filter_map(|entry| id_of(Path::new(&entry.file_name())))
            .map(TaskId::number);
        Ok(numbers.max().unwrap_or(0))
    }
}

fn parse(path: PathBuf, id: TaskId, bytes: &[u8]) -> Result<Task, BrokenFile> {
    match Task::parse(bytes) {
        Ok(task) if task.id == id => Ok(task),
        Ok(task) => Err(BrokenFile {
            path,
            reason: format!("it says that it is task {}", task.id),
        }),
        Err(error) => Err(BrokenFile {
            path,
            reason: error.to_string(),
        }),
    }
}

/// The task that a file name stands for.
fn id_of(path: &Path) -> Option<TaskId> {
    let stem = path.file_name()?.to_str()?.strip_suffix(".json")?;
    // `#7` reads as a task id, too, but is not the name of its file.
    let id: TaskId = stem.parse().ok()?;
    (id.to_string() == stem).then_some(id)
}
