//! Reading and locking task files.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use swarm_os::{DirReader, LockGuard, OsError};
use swarm_protocol::{Task, TaskId, TeamConfig};

use crate::file::team::FileTeam;
use crate::{BrokenFile, Result, TaskList};

/// Number of task files read by one thread: reading them takes much longer than starting a thread.
const FILES_PER_THREAD: usize = 250;

impl FileTeam {
    /// Runs `work` with the task list locked. An inbox may be locked meanwhile. An interrupted
    /// write of several files is completed first, and messages of earlier changes are sent.
    pub(crate) fn with_list_lock<T>(
        &self,
        work: impl FnOnce(&LockGuard) -> Result<T>,
    ) -> Result<T> {
        self.locked(&self.at.tasks_lock(), &[], |held| {
            // The lock proves that the team exists; its task list may have been deleted by hand.
            swarm_os::place_private_dir(self.at.tasks())?.sync()?;
            let list = self.at.list_file();
            // Claude Code can only lock a file that exists.
            match swarm_os::create_private_file(&list) {
                Err(error) if !matches!(error, OsError::Exists(_)) => return Err(error.into()),
                _ => {}
            }
            held.also(std::slice::from_ref(&list), |held| {
                if held.was_left_behind() {
                    // Claude Code waits for the locks of single tasks, so swarm holds them only
                    // briefly.
                    held.remove_leftovers(self.at.tasks())?;
                    for file in [self.at.tasks_outbox(), self.at.tasks_redo()] {
                        held.remove_attempts_on(&file)?;
                    }
                }
                self.complete_redo(held)?;
                self.settle(held, false)?;
                work(held)
            })
        })
    }

    /// Takes the locks of existing tasks, under that of the list. `ids` must be ascending. A task
    /// that is being created needs none: programs lock a task only once its file is there, and
    /// create one only with the list's lock.
    pub(super) fn with_task_locks<T>(
        &self,
        held: &LockGuard,
        ids: &[TaskId],
        work: impl FnOnce() -> Result<T>,
    ) -> Result<T> {
        let files: Vec<PathBuf> = ids.iter().map(|id| self.at.task(*id)).collect();
        held.also(&files, |_| work())
    }

    /// Reads the tasks needed to change `ids`: these, their dependents, and all blockers. Swarm and
    /// Claude Code record each edge on both sides. If another program takes part, the whole list is
    /// read, since an edge may be recorded on one side only.
    pub(super) fn read_related(&self, config: &TeamConfig, ids: &[TaskId]) -> Result<TaskList> {
        let mut members = config.teammates();
        if members.any(|member| member.swarm.is_none()) {
            return self.read_all_tasks();
        }
        let mut list = TaskList::default();
        self.read_missing(&mut list, ids.iter().copied())?;
        let waiting: Vec<TaskId> = edges_of(&list, |task| &task.blocks);
        self.read_missing(&mut list, waiting)?;
        let awaited: Vec<TaskId> = edges_of(&list, |task| &task.blocked_by);
        self.read_missing(&mut list, awaited)?;
        Ok(list)
    }

    /// Adds tasks to a list that does not have them yet.
    fn read_missing(
        &self,
        list: &mut TaskList,
        ids: impl IntoIterator<Item = TaskId>,
    ) -> Result<()> {
        for id in ids {
            let Err(place) = list.tasks.binary_search_by_key(&id, |task| task.id) else {
                continue;
            };
            match self.read_task(id)? {
                Some(Ok(task)) => list.tasks.insert(place, task),
                Some(Err(broken)) if !list.broken.contains(&broken) => list.broken.push(broken),
                _ => {}
            }
        }
        Ok(())
    }

    /// Reads the whole directory.
    pub(crate) fn read_all_tasks(&self) -> Result<TaskList> {
        let listed = DirReader::open(self.at.tasks().to_owned());
        let listed = listed.and_then(|directory| {
            directory
                .map(|it| Ok((it.pick_names(id_in)?, it)))
                .transpose()
        });
        let (mut ids, directory) = match listed {
            Ok(Some(listed)) => listed,
            Ok(None) | Err(_) if !self.exists() => return Err(self.not_found()),
            Ok(None) => return Ok(TaskList::default()),
            Err(error) => return Err(error.into()),
        };
        ids.sort_unstable();
        let parts: Vec<&[TaskId]> = ids.chunks(FILES_PER_THREAD).collect();
        let read = swarm_os::in_parallel(&parts, |ids| self.read_tasks(&directory, ids));
        let mut list = TaskList::with_capacity(ids.len());
        for part in read {
            let part = part?;
            list.tasks.extend(part.tasks);
            list.broken.extend(part.broken);
        }
        Ok(list)
    }

    /// Reads the files of these tasks; those that were deleted meanwhile are omitted.
    fn read_tasks(&self, directory: &DirReader, ids: &[TaskId]) -> Result<TaskList> {
        let mut list = TaskList::with_capacity(ids.len());
        for id in ids {
            match self.task_in(*id, directory.read(format!("{id}.json")))? {
                Some(Ok(task)) => list.tasks.push(task),
                Some(Err(broken)) => list.broken.push(broken),
                None => {}
            }
        }
        Ok(list)
    }

    /// Reads one file; `None` if there is none.
    pub(super) fn read_task(&self, id: TaskId) -> Result<Option<Result<Task, BrokenFile>>> {
        self.task_in(id, swarm_os::read_optional(&self.at.task(id)))
    }

    /// Parses the task in a file.
    fn task_in(
        &self,
        id: TaskId,
        read: Result<Option<Vec<u8>>, OsError>,
    ) -> Result<Option<Result<Task, BrokenFile>>> {
        match read {
            Ok(Some(bytes)) => Ok(Some(parse(id, &bytes).map_err(|reason| BrokenFile {
                path: self.at.task(id),
                reason,
            }))),
            Ok(None) => Ok(None),
            Err(OsError::NotOurs { path, why }) => {
                let reason = why.to_owned();
                Ok(Some(Err(BrokenFile { path, reason })))
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Returns the highest number among the file names.
    pub(super) fn highest_number(&self) -> Result<u64> {
        let names = swarm_os::names_in(self.at.tasks())?.unwrap_or_default();
        let numbers = names.iter().filter_map(|name| id_in(name));
        let numbers = numbers.map(TaskId::number);
        Ok(numbers.max().unwrap_or(0))
    }
}

fn edges_of(list: &TaskList, of: impl Fn(&Task) -> &Vec<TaskId>) -> Vec<TaskId> {
    let edges = list.tasks.iter().flat_map(|task| of(task).iter());
    edges.copied().collect()
}

/// Parses a task, or returns why it is invalid.
fn parse(id: TaskId, bytes: &[u8]) -> Result<Task, String> {
    match Task::parse(bytes) {
        Ok(task) if task.id == id => Ok(task),
        Ok(task) => Err(format!("it says that it is task {}", task.id)),
        Err(error) => Err(error.to_string()),
    }
}

/// Returns the task ID of a file.
pub(super) fn id_of(path: &Path) -> Option<TaskId> {
    id_in(path.file_name()?)
}

/// Returns the task ID in a file name.
fn id_in(name: &OsStr) -> Option<TaskId> {
    let stem = name.to_str()?.strip_suffix(".json")?;
    // `#7` reads as a task id, too, but is not the name of its file.
    stem.parse().ok().filter(|_| !stem.starts_with('#'))
}
