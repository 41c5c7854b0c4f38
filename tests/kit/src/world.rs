//! A team with everything that is needed to lead it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use swarm_agent::EventSink;
use swarm_os::DirectoryWatcher;
use swarm_panes::{BackendRequest, TerminalFacts};
use swarm_permissions::{Behavior, Rule, RuleSet};
use swarm_protocol::{
    AgentEvent, BackendType, Clock, ControlFrame, Event, IdleNotification, IdleReason, LEAD_NAME,
    LifeKind, LifeRecord, MemberName, MemberState, NewTask, OnLost, PaneId, PermissionMode,
    Reservation, SessionId, ShutdownApproved, ShutdownRejected, ShutdownRequest, SpawnId,
    StateReport, SystemClock, TaskId, TeamName, UnixMs,
};
use swarm_store::{
    Actor, BlockOn as _, Draft, FileStore, Inbox, Lease, MemoryStore, NewMember, NewTeam, Team,
    TeamStore, process,
};
use swarm_team::{
    Incoming, MemberDefinition, MemberLimits, MemberPermissions, MemberRuntime, MemberWorkspace,
    PaneSettings, sort_mail,
};
use swarm_worktree::{Git, Worktrees};

use swarm_supervisor::{ProcessIdentity, SpawnContext};

use crate::wait_for;

pub fn name(text: &str) -> MemberName {
    MemberName::parse(text).unwrap()
}

pub fn team() -> TeamName {
    TeamName::parse("crew").unwrap()
}

/// Returns a file of the team `crew` below a config directory.
pub fn team_file(root: &Path, name: &str) -> PathBuf {
    root.join("teams/crew").join(name)
}

/// Records events.
#[derive(Debug, Default)]
pub struct Events(Mutex<Vec<AgentEvent>>);

impl Events {
    pub fn notices(&self) -> Vec<String> {
        let events = self.0.lock();
        let notices = events.iter().filter_map(|event| match event {
            AgentEvent::Notice { line } => Some(line.clone()),
            _ => None,
        });
        notices.collect()
    }

    /// Returns the permission requests of members, each with sender, call and id.
    pub fn asked(&self) -> Vec<[String; 3]> {
        let events = self.0.lock();
        let asked = events.iter().filter_map(|event| match event {
            AgentEvent::Asked { from, line, id, .. } => Some([from, line, id].map(Clone::clone)),
            _ => None,
        });
        asked.collect()
    }

    pub fn turns_ended(&self) -> usize {
        let events = self.0.lock();
        let ends = events
            .iter()
            .filter(|event| matches!(event, AgentEvent::TurnEnded { .. }));
        ends.count()
    }
}

impl EventSink for Events {
    fn emit(&self, event: AgentEvent) {
        self.0.lock().push(event);
    }
}

#[derive(Debug)]
pub struct World {
    pub directory: tempfile::TempDir,
    pub store: Arc<dyn TeamStore>,
    /// The store, if it is in memory.
    pub memory: Option<MemoryStore>,
    pub spawn_context: SpawnContext,
}

impl World {
    /// The team `crew` in memory, which has only its lead.
    pub fn new() -> Self {
        let world = Self::without_team();
        world.create_team();
        world
    }

    /// The team `crew` in memory with a committed member.
    pub fn with_member(member: &str) -> (Self, SpawnId) {
        let world = Self::new();
        let spawn = world.join(member);
        (world, spawn)
    }

    /// The team `crew` on files, for tests of other programs and processes, which use the files.
    pub fn on_files() -> Self {
        let world = Self::on_files_without_team();
        world.create_team();
        world
    }

    pub fn on_files_without_team() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().join("root");
        let store = FileStore::new(root, Arc::new(SystemClock));
        Self::with(directory, Arc::new(store), None)
    }

    /// Returns the handle of the team `crew`.
    pub fn crew(&self) -> Arc<dyn Team> {
        self.store.team(&team())
    }

    /// Creates the team `crew`.
    pub fn create_team(&self) {
        let new = NewTeam::new(team(), self.path(), LEAD_NAME);
        self.store.create_team(new).block_on().unwrap();
    }

    pub fn without_team() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let store = MemoryStore::new(directory.path().join("root"), Arc::new(SystemClock));
        Self::with(directory, Arc::new(store.clone()), Some(store))
    }

    fn with(
        directory: tempfile::TempDir,
        store: Arc<dyn TeamStore>,
        memory: Option<MemoryStore>,
    ) -> Self {
        let root = directory.path().join("root");
        let spawn_context = spawn_context(root, directory.path().to_owned(), store.clone());
        Self {
            directory,
            store,
            memory,
            spawn_context,
        }
    }

    /// Returns a file of the team `crew`, if the world is on files.
    pub fn file(&self, name: &str) -> PathBuf {
        assert!(self.memory.is_none(), "a world on files");
        team_file(&self.spawn_context.root, name)
    }

    pub fn path(&self) -> PathBuf {
        self.directory.path().to_owned()
    }

    pub fn reserve(&self, member: &str, prompt: Option<&str>) -> SpawnId {
        reserve(&self.store, &self.path(), member, prompt)
    }

    /// Adds a committed member without a process.
    pub fn join(&self, member: &str) -> SpawnId {
        let spawn = self.reserve(member, None);
        commit(&self.store, spawn);
        spawn
    }

    pub fn live(&self, member: &str, spawn: SpawnId) -> Lease {
        hold_life(&self.store, &team(), member, spawn)
    }

    pub fn report(&self, member: &str, spawn: SpawnId, state: MemberState) {
        report_state(&self.store, &team(), member, spawn, state);
    }

    pub fn has(&self, member: &str) -> bool {
        let config = self.crew().config().block_on().unwrap();
        config.member(&name(member)).is_some()
    }

    pub fn mail(&self, member: &str) -> Vec<Incoming> {
        sort_mail(self.inbox(member).entries)
    }

    pub fn unread(&self, member: &str) -> usize {
        self.inbox(member).unread().count()
    }

    fn inbox(&self, member: &str) -> Inbox {
        let team = self.crew();
        team.inbox(&name(member)).block_on().unwrap()
    }

    /// Adds an unmarked entry to the lead's inbox, as another program would.
    pub fn write_raw(&self, from: &str, text: &str) {
        let path = self.file("inboxes/team-lead.json");
        let bytes = std::fs::read(&path).unwrap_or_else(|_| b"[]".to_vec());
        let mut entries: Vec<serde_json::Value> = serde_json::from_slice(&bytes).unwrap();
        entries.push(serde_json::json!({"from": from, "text": text, "timestamp": "2026-11-20T17:53:21.411Z", "read": false}));
        swarm_os::replace_alone(&path, serde_json::to_string(&entries).unwrap().as_bytes())
            .unwrap();
    }

    pub fn journal(&self) -> Vec<Event> {
        let entries = self.crew().events().block_on().unwrap().entries.into_iter();
        entries.map(|entry| entry.event).collect()
    }

    /// Returns how members stopped, according to the journal.
    pub fn stops(&self) -> Vec<String> {
        let events = self.journal().into_iter();
        events
            .filter_map(|event| match event {
                Event::MemberStopped { how, .. } => Some(how),
                _ => None,
            })
            .collect()
    }

    /// Creates a task that a member works on.
    pub fn task_of(&self, member: &str, spawn: SpawnId) -> TaskId {
        let new = NewTask {
            subject: "paint".to_owned(),
            ..NewTask::default()
        };
        let person = Actor::person(&team());
        let id = self
            .crew()
            .create_tasks(&[new], &person)
            .block_on()
            .unwrap()[0];
        let actor = Actor::member(&team(), name(member), Some(spawn));
        self.crew().claim(&id, &actor).block_on().unwrap();
        id
    }

    /// Plays a member in a thread until it was asked to stop and has given `answer`.
    pub fn play(
        &self,
        member: &str,
        spawn: SpawnId,
        answer: Answer,
    ) -> std::thread::JoinHandle<Lease> {
        let (store, member) = (self.store.clone(), member.to_owned());
        let life = self.live(&member, spawn);
        report_state(&store, &team(), &member, spawn, MemberState::Idle);
        std::thread::spawn(move || {
            let request = wait_for("a shutdown request", || asked(&store, &member));
            let frame = answer.frame(&member, &request);
            let draft = Draft::control(member.as_str(), &frame);
            if answer == Answer::Approve {
                report_state(&store, &team(), &member, spawn, MemberState::Stopping);
            }
            store
                .team(&team())
                .send(&MemberName::lead(), draft)
                .block_on()
                .unwrap();
            life
        })
    }
}

/// Answer of a simulated member to a shutdown request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    Approve,
    Refuse,
}

impl Answer {
    pub fn frame(self, member: &str, request: &ShutdownRequest) -> ControlFrame {
        let (request_id, from) = (request.request_id.clone(), member.to_owned());
        let timestamp = SystemClock.now().iso();
        match self {
            Self::Approve => ControlFrame::ShutdownApproved(ShutdownApproved {
                request_id,
                from,
                timestamp,
                pane_id: None,
                backend_type: None,
            }),
            Self::Refuse => ControlFrame::ShutdownRejected(ShutdownRejected {
                request_id,
                from,
                reason: "tests run".to_owned(),
                timestamp,
            }),
        }
    }
}

/// Returns the shutdown request in a member's inbox.
pub fn asked(store: &Arc<dyn TeamStore>, member: &str) -> Option<ShutdownRequest> {
    let unread = store
        .team(&team())
        .take_unread(&name(member))
        .block_on()
        .unwrap();
    sort_mail(unread)
        .into_iter()
        .find_map(|incoming| incoming.shutdown_request().cloned())
}

/// Sends the idle notification of a member at the end of a turn.
pub fn idle_notice(store: &Arc<dyn TeamStore>, member: &str, result: Option<&str>) {
    let frame = ControlFrame::IdleNotification(IdleNotification {
        from: member.to_owned(),
        timestamp: SystemClock.now().iso(),
        idle_reason: Some(IdleReason::Available),
        result: result.map(str::to_owned),
        summary: None,
        completed_task_id: None,
        completed_status: None,
        failure_reason: None,
        open_tasks: Vec::new(),
    });
    let draft = Draft::control(member, &frame);
    store
        .team(&team())
        .send(&MemberName::lead(), draft)
        .block_on()
        .unwrap();
}

pub fn reserve(
    store: &Arc<dyn TeamStore>,
    cwd: &Path,
    member: &str,
    prompt: Option<&str>,
) -> SpawnId {
    let spawn_id = SpawnId::random();
    let own = std::process::id();
    let start = process::start_time(own).unwrap();
    let held = Reservation::new(own, start, UnixMs(u64::MAX));
    let mut new = NewMember::new(name(member), spawn_id, held, cwd);
    new.prompt = prompt.map(|prompt| Draft::new(LEAD_NAME, prompt));
    new.entry.session_id = Some(SessionId::random().to_string());
    store.team(&team()).reserve(new).block_on().unwrap();
    spawn_id
}

pub fn commit(store: &Arc<dyn TeamStore>, spawn: SpawnId) {
    store
        .team(&team())
        .commit_spawn(&spawn, PaneId::none(), BackendType::Headless, None)
        .block_on()
        .unwrap();
}

pub fn hold_life(
    store: &Arc<dyn TeamStore>,
    team: &TeamName,
    member: &str,
    spawn_id: SpawnId,
) -> Lease {
    let record = LifeRecord {
        host: "here".to_owned(),
        ..LifeRecord::new(LifeKind::Process, std::process::id(), "", spawn_id)
    };
    let (team, member) = (store.team(team), name(member));
    team.take_life(&member, &record).block_on().unwrap()
}

pub fn report_state(
    store: &Arc<dyn TeamStore>,
    team: &TeamName,
    member: &str,
    spawn_id: SpawnId,
    state: MemberState,
) {
    let report = StateReport::new(spawn_id, state, UnixMs(1));
    store
        .team(team)
        .write_state(&name(member), &report)
        .block_on()
        .unwrap();
}

fn spawn_context(root: PathBuf, cwd: PathBuf, store: Arc<dyn TeamStore>) -> SpawnContext {
    let own = std::process::id();
    let worktrees = root.join("swarm/worktrees");
    let mut rules = RuleSet::default();
    for (behavior, rule) in [
        (Behavior::Allow, "Bash(git log:*)"),
        (Behavior::Deny, "Bash(rm:*)"),
        (Behavior::Ask, "Bash(make:*)"),
    ] {
        rules.add(behavior, Rule::parse(rule).unwrap(), "a test");
    }
    SpawnContext {
        terminal: TerminalFacts {
            own_socket_dir: cwd.join("sockets"),
            ..TerminalFacts::default()
        },
        root,
        store,
        clock: Arc::new(SystemClock),
        watcher: Arc::new(DirectoryWatcher::new()),
        program: std::env::current_exe().unwrap(),
        backend: BackendRequest::default(),
        resolve_model: Arc::new(|name| Ok(name.to_owned())),
        resolve_runtime: Arc::new(|program, _cwd| Err(format!("{program} is not installed"))),
        find_sandbox: Arc::new(|| None),
        worktrees: Worktrees::new(Git::new("git", <_>::default()), <_>::default(), worktrees),
        hello_deadline: Duration::from_secs(20),
        kill_grace: Duration::from_millis(200),
        version: "1.2.3".to_owned(),
        runtime: MemberRuntime {
            provider: BTreeMap::from([("ANTHROPIC_API_KEY".to_owned(), "key-secret".to_owned())]),
            ..MemberRuntime::new("fake/fake-1")
        },
        definition: MemberDefinition::default(),
        permissions: MemberPermissions {
            rules,
            ..MemberPermissions::new(PermissionMode::Default, PermissionMode::AcceptEdits)
        },
        workspace: MemberWorkspace {
            cwd,
            env: BTreeMap::from([("PATH".to_owned(), "/usr/bin:/bin".to_owned())]),
            ..MemberWorkspace::default()
        },
        limits: MemberLimits {
            max_unread: 1000,
            max_message_bytes: 256 * 1024,
            max_requests: 20,
            permission_timeout_ms: 50,
            shutdown_grace_ms: 20_000,
            answer_timeout_ms: 0,
            remind: true,
            on_lost: OnLost::Park,
        },
        pane: PaneSettings {
            color: false,
            bell: true,
        },
        process: ProcessIdentity {
            pid: own,
            start: process::start_time(own).unwrap(),
            host: "here".to_owned(),
            pid_space: "here".to_owned(),
        },
        spawn_id: SpawnId::random(),
    }
}
