//! A config directory with one team, used by the fault tests.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, SystemTime};

use serde_json::Value;
use swarm_os::{LifeHolder, LockOptions};
use swarm_protocol::{
    Answer, AnsweredBy, BackendType, LifeKind, LifeRecord, MemberName, NewTask, PaneId, RequestId,
    Reservation, SpawnId, SystemClock, TaskId, TeamName, UnixMs,
};
use swarm_store::{
    Actor, BlockOn as _, FileStore, Inbox, NewMember, NewTeam, StoreError, StoreLimits,
    TeamStore as _, process,
};

use crate::guard::note;
use crate::stage::Team;

/// Name of the team.
pub const TEAM: &str = "crew";

/// Lock timeout of a worker: every process gets the lock eventually, regardless of the machine's
/// speed.
const PATIENCE: Duration = Duration::from_mins(2);

/// A store in a directory.
#[derive(Debug)]
pub struct TeamFixture {
    /// The config directory.
    pub root: PathBuf,
    /// The store in it.
    pub store: FileStore,
    /// The team.
    pub team: TeamName,
    /// Removed on drop; `None` in a worker.
    directory: Option<tempfile::TempDir>,
}

/// Returns the parent directory: the configured one, otherwise a tmpfs where available. A busy disk
/// slows down every step without showing more than memory does.
pub(super) fn place() -> PathBuf {
    let memory = Path::new("/dev/shm");
    let usual = if memory.is_dir() {
        memory
    } else {
        Path::new("/tmp")
    };
    std::env::var_os("STRESS_PLACE").map_or_else(|| usual.to_owned(), PathBuf::from)
}

/// Locking protocols of the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Locking {
    /// Both protocols.
    #[default]
    Both,
    /// Lock directories only, as on a network file system.
    DirectoryOnly,
}

impl TeamFixture {
    /// Creates one with the team.
    ///
    /// # Panics
    /// If it cannot be created.
    pub fn fresh() -> Self {
        let directory = tempfile::Builder::new()
            .prefix("swarm.faults-")
            .tempdir_in(place())
            .expect("a directory");
        note(directory.path());
        let mut ground = Self::at(&directory.path().join("root"), Locking::Both);
        ground.directory = Some(directory);
        ground.create_team().expect("the team");
        ground
    }

    /// Opens an existing one, or one that is about to be created.
    ///
    /// # Panics
    /// Never: the team's name is valid.
    pub fn at(root: &Path, locking: Locking) -> Self {
        let options = LockOptions {
            deadline: PATIENCE,
            directory_only: locking == Locking::DirectoryOnly,
            ..LockOptions::default()
        };
        let store = FileStore::new(root.to_owned(), Arc::new(SystemClock))
            .with_lock_options(options)
            .with_limits(StoreLimits {
                max_unread: usize::MAX,
                ..StoreLimits::default()
            });
        Self {
            root: root.to_owned(),
            store,
            team: TeamName::parse(TEAM).expect("a sound name"),
            directory: None,
        }
    }

    /// Sets the locking protocols.
    ///
    /// # Panics
    /// Never.
    #[must_use]
    pub fn locking(mut self, locking: Locking) -> Self {
        let directory = self.directory.take();
        let mut other = Self::at(&self.root, locking);
        other.directory = directory;
        other
    }

    /// Returns the store with a short timeout: the lock of a dead process must not delay it.
    pub fn hurried(&self) -> FileStore {
        self.store.clone().with_lock_options(LockOptions {
            deadline: Duration::from_secs(10),
            ..LockOptions::default()
        })
    }

    /// Creates the team.
    pub fn create_team(&self) -> swarm_store::Result<()> {
        self.store
            .create_team(NewTeam::new(self.team.clone(), "/work", "a test"))
            .block_on()
            .map(drop)
    }

    /// Adds a member without a process.
    ///
    /// # Panics
    /// If the store fails.
    pub fn join(&self, member: &str) -> SpawnId {
        join(&*self.store.team(&self.team), member)
    }

    /// Takes a member's life lock for this process.
    ///
    /// # Errors
    /// If another process holds it.
    ///
    /// # Panics
    /// If this process cannot read its own start time.
    pub fn live(&self, member: &str, spawn_id: SpawnId) -> Result<LifeHolder, swarm_os::OsError> {
        let record = life_record(spawn_id);
        let path = self.files().member_directory(member).join("life");
        LifeHolder::take(&path, &serde_json::to_vec(&record).expect("a record"))
    }

    /// Creates a task.
    ///
    /// # Panics
    /// If the store fails.
    pub fn task(&self, subject: &str, blocked_by: &[u64]) -> TaskId {
        let new = new_task(subject, blocked_by);
        let person = Actor::person(&self.team);
        let made = self
            .store
            .team(&self.team)
            .create_tasks(&[new], &person)
            .block_on();
        made.expect("a task")[0]
    }

    /// Returns the path of a member's inbox.
    pub fn inbox(&self, member: &str) -> PathBuf {
        self.files().inbox_path(member)
    }

    /// Returns the files of the team.
    pub fn files(&self) -> Team {
        Team::new(&self.root, self.team.as_str())
    }

    /// Returns the archive of a member's acknowledged messages.
    pub fn archive(&self, member: &str) -> PathBuf {
        let directory = self.files().directory().join("swarm/archive");
        directory.join(format!("{member}.jsonl"))
    }

    /// Returns every file and directory below the config directory.
    pub fn paths(&self) -> Vec<PathBuf> {
        let mut paths = Vec::new();
        let mut directories = vec![self.root.clone()];
        while let Some(directory) = directories.pop() {
            // Teams are created and deleted concurrently.
            for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
                if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                    directories.push(entry.path());
                }
                paths.push(entry.path());
            }
        }
        paths.sort();
        paths
    }

    /// Asserts that every readable file is complete: documents and all complete lines are JSON,
    /// except for the beginning of a message that a killed process was moving to the archive. That
    /// message also exists completely.
    ///
    /// # Panics
    /// If a file is torn.
    /// When one is torn.
    #[track_caller]
    pub fn assert_whole(&self) {
        for path in self.paths() {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            if name.starts_with('.') || !path.is_file() {
                continue;
            }
            if name.ends_with(".json") {
                assert_document(&path);
            } else if name.ends_with(".jsonl") {
                self.assert_lines(&path);
            }
        }
    }

    #[track_caller]
    fn assert_lines(&self, path: &Path) {
        let text = fs::read_to_string(path).unwrap_or_default();
        let complete = text.rfind('\n').map_or("", |end| &text[..end]);
        let lines = complete.lines().filter(|line| !line.is_empty());
        let (whole, torn): (Vec<&str>, Vec<&str>) =
            lines.partition(|line| serde_json::from_str::<Value>(line).is_ok());
        if torn.is_empty() {
            return;
        }
        let in_archive = path
            .parent()
            .is_some_and(|directory| directory.ends_with("archive"));
        let reader = path.file_stem().unwrap_or_default().to_string_lossy();
        let inbox = if in_archive {
            self.store.team(&self.team).inbox(&name(&reader)).block_on()
        } else {
            Ok(Inbox::default())
        };
        let mut kept = inbox.expect("the inbox of an archive").entries;
        // Messages in the archive are acknowledged, even if the inbox does not say so yet.
        for entry in &mut kept {
            entry.read = true;
        }
        let kept: Vec<String> = kept
            .iter()
            .map(|entry| serde_json::to_string(entry).expect("an entry"))
            .collect();
        for line in torn {
            let is_kept = whole
                .iter()
                .copied()
                .chain(kept.iter().map(String::as_str))
                .any(|other| other.starts_with(line));
            assert!(
                in_archive && is_kept,
                "a line of {}: {line}",
                path.display()
            );
        }
    }

    /// Takes every lock of the team once, which removes the locks of dead processes.
    ///
    /// # Panics
    /// If a lock cannot be taken.
    pub fn pass_by(&self, store: &FileStore) {
        let Ok(config) = store.team(&self.team).config().block_on() else {
            return;
        };
        let noted = store.update_config(&self.team, |_| Ok(()));
        noted.expect("the roster's lock");
        for member in config.names() {
            store
                .team(&self.team)
                .inbox_at_rest(&member)
                .block_on()
                .expect("an inbox's lock");
        }
        let nobody = TaskId::new(u64::MAX);
        let refused = store
            .team(&self.team)
            .claim(&nobody, &Actor::person(&self.team))
            .block_on();
        let is_unknown = matches!(refused, Err(StoreError::TaskNotFound { .. }));
        assert!(is_unknown, "the list's lock: {refused:?}");
        let answer = Answer::once();
        let refused = store
            .team(&self.team)
            .answer_request(
                &RequestId::new("perm-0-nobody0"),
                None,
                answer,
                AnsweredBy::default(),
            )
            .block_on();
        let is_unknown = matches!(refused, Err(StoreError::RequestNotFound { .. }));
        assert!(is_unknown, "the lock of requests: {refused:?}");
    }

    /// Sets the modification time of every temporary file to the distant past.
    pub fn age_temporaries(&self) {
        let long_ago = SystemTime::now() - Duration::from_hours(3);
        for path in self.litter() {
            if let Ok(file) = fs::File::open(path) {
                drop(file.set_modified(long_ago));
            }
        }
    }

    /// Returns lock directories and temporary files, which no properly terminated process leaves
    /// behind.
    pub fn litter(&self) -> Vec<PathBuf> {
        let mut paths = self.paths();
        paths.retain(|path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let is_lock = name.ends_with(".lock") || name.ends_with(".lock.breaking");
            (is_lock && path.is_dir()) || name.ends_with(".swarm-tmp")
        });
        paths
    }
}

/// Asserts that a file is one JSON document or missing.
///
/// # Panics
/// If it is torn.
#[track_caller]
pub fn assert_document(path: &Path) {
    if let Ok(bytes) = fs::read(path) {
        let parsed: Result<Value, _> = serde_json::from_slice(&bytes);
        assert!(
            parsed.is_ok(),
            "{} is torn: {parsed:?}\n{}",
            path.display(),
            String::from_utf8_lossy(&bytes)
        );
    }
}

/// Adds a member without a process.
///
/// # Panics
/// If the store fails.
pub fn join(team: &dyn swarm_store::Team, member: &str) -> SpawnId {
    let spawn = reserve(team, member);
    commit(team, spawn);
    spawn
}

/// Reserves a place for a member that this process spawns.
pub(super) fn reserve(team: &dyn swarm_store::Team, member: &str) -> SpawnId {
    let new = new_member(member);
    let spawn = new.spawn_id;
    team.reserve(new).block_on().expect("a place");
    spawn
}

/// Commits a spawn, whose process has taken its lease if it has one.
pub(super) fn commit(team: &dyn swarm_store::Team, spawn: SpawnId) {
    let (pane, backend) = (PaneId::new("%1"), BackendType::Tmux);
    team.commit_spawn(&spawn, pane, backend, None)
        .block_on()
        .expect("a member");
}

/// Returns the life record of a member that is this process.
///
/// # Panics
/// If this process cannot read its own start time.
pub(crate) fn life_record(spawn_id: SpawnId) -> LifeRecord {
    let pid = std::process::id();
    LifeRecord {
        host: "here".to_owned(),
        pid_space: swarm_os::process::pid_space(),
        ..LifeRecord::new(
            LifeKind::Process,
            pid,
            process::start_time(pid).expect("a start time"),
            spawn_id,
        )
    }
}

/// Parses a valid name.
///
/// # Panics
/// If it is not valid.
pub fn name(text: &str) -> MemberName {
    MemberName::parse(text).expect("a sound name")
}

/// Returns a task that is blocked by others.
pub fn new_task(subject: &str, blocked_by: &[u64]) -> NewTask {
    NewTask {
        subject: subject.to_owned(),
        description: "do it".to_owned(),
        blocked_by: blocked_by.iter().copied().map(TaskId::new).collect(),
        ..NewTask::default()
    }
}

/// Returns a member to be spawned by this process.
///
/// # Panics
/// If this process cannot read its own start time.
pub fn new_member(member: &str) -> NewMember {
    static START: OnceLock<String> = OnceLock::new();
    let pid = std::process::id();
    let start = START.get_or_init(|| process::start_time(pid).expect("a start time"));
    let held = Reservation::new(pid, start, UnixMs(u64::MAX));
    NewMember::new(name(member), SpawnId::random(), held, "/work")
}
