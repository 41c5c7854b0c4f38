//! A team, and contexts of its members.

use std::path::PathBuf;
use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::Value;
use swarm_permissions::HandoffScan;
use swarm_protocol::{
    AgentEvent, AgentId, BackendType, Clock, Color, ControlFrame, Event, InboxEntry, LifeKind,
    LifeRecord, MemberName, MemberState, NewTask, PaneId, RequestId, Reservation, SpawnId,
    StateReport, SystemClock, Task, TaskId, TeamName, UnixMs,
};
use swarm_store::{
    Actor, BlockOn as _, FileStore, Lease, MemoryStore, NewMember, NewTeam, StoreError,
    StoreLimits, Team, TeamStore, process,
};
use swarm_team::{Incoming, MemberContext, TeamCreator, sort_mail};
use swarm_tools::{Caller, Tool, ToolContext, ToolOutput};

pub(crate) struct World {
    directory: tempfile::TempDir,
    pub(crate) store: Arc<dyn TeamStore>,
    /// The store, if it is in memory.
    memory: Option<MemoryStore>,
    pub(crate) team: TeamName,
}

pub(crate) fn name(text: &str) -> MemberName {
    MemberName::parse(text).unwrap()
}

pub(crate) fn request_id(text: &str) -> RequestId {
    RequestId::new(text)
}

pub(crate) fn id(number: u64) -> TaskId {
    TaskId::new(number)
}

/// A context that records its events.
pub(crate) struct Seated {
    pub(crate) context: Arc<MemberContext>,
    events: Arc<Mutex<Vec<AgentEvent>>>,
}

impl Seated {
    pub(crate) fn events(&self) -> Vec<AgentEvent> {
        self.events.lock().clone()
    }
}

impl World {
    /// The team's files.
    pub(crate) fn files(&self) -> Arc<dyn Team> {
        self.store.team(&self.team)
    }

    /// With the team `crew` in memory, which has only its lead.
    pub(crate) fn new() -> Self {
        Self::with_limits(StoreLimits::default())
    }

    pub(crate) fn with_limits(limits: StoreLimits) -> Self {
        let world = Self::without_team(limits);
        world.found();
        world
    }

    pub(crate) fn without_team(limits: StoreLimits) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().join("root");
        let store = MemoryStore::new(root, Arc::new(SystemClock)).with_limits(limits);
        Self::with(directory, Arc::new(store.clone()), Some(store))
    }

    /// With the team `crew` on files, for tests of what other programs write there.
    pub(crate) fn on_files() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let store = FileStore::new(directory.path().join("root"), Arc::new(SystemClock));
        let world = Self::with(directory, Arc::new(store), None);
        world.found();
        world
    }

    fn with(
        directory: tempfile::TempDir,
        store: Arc<dyn TeamStore>,
        memory: Option<MemoryStore>,
    ) -> Self {
        Self {
            store,
            memory,
            team: TeamName::parse("crew").unwrap(),
            directory,
        }
    }

    /// Returns the store, if it is in memory.
    pub(crate) fn memory(&self) -> MemoryStore {
        self.memory.clone().unwrap()
    }

    /// Returns a file of the team, if it is on files.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        assert!(self.memory.is_none(), "a team on files");
        self.directory.path().join("root/teams/crew").join(name)
    }

    pub(crate) fn found(&self) {
        found(&*self.store, &self.team).unwrap();
    }

    pub(crate) fn reserve(&self, member: &str) -> SpawnId {
        let spawn_id = SpawnId::random();
        self.reserve_as(member, spawn_id, Self::reservation());
        spawn_id
    }

    /// A reservation that is valid as long as this process runs.
    pub(crate) fn reservation() -> Reservation {
        let own = std::process::id();
        Reservation::new(own, process::start_time(own).unwrap(), UnixMs(u64::MAX))
    }

    pub(crate) fn reserve_as(&self, member: &str, spawn_id: SpawnId, reservation: Reservation) {
        let new = self.new_member(member, spawn_id, reservation);
        self.store.team(&self.team).reserve(new).block_on().unwrap();
    }

    pub(crate) fn new_member(
        &self,
        member: &str,
        spawn_id: SpawnId,
        reservation: Reservation,
    ) -> NewMember {
        NewMember::new(name(member), spawn_id, reservation, self.directory.path())
    }

    /// A committed member.
    pub(crate) fn join(&self, member: &str) -> SpawnId {
        let spawn = self.reserve(member);
        let (pane, backend) = (PaneId::new("%1"), BackendType::Tmux);
        self.store
            .team(&self.team)
            .commit_spawn(&spawn, pane, backend, None)
            .block_on()
            .unwrap();
        spawn
    }

    /// A committed member that is alive until the lease is dropped.
    pub(crate) fn live(&self, member: &str) -> (SpawnId, Lease) {
        let spawn_id = self.join(member);
        (spawn_id, self.hold_life(member, spawn_id))
    }

    /// Sets a worktree for all members.
    pub(crate) fn give_worktrees(&self, path: &str) {
        let file = self.file("config.json");
        let mut config: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
        for member in config["members"].as_array_mut().unwrap() {
            member["worktreePath"] = path.into();
        }
        std::fs::write(&file, config.to_string()).unwrap();
    }

    /// Adds a member of another program.
    pub(crate) fn foreigner(&self, member: &str) {
        let file = self.file("config.json");
        let mut config: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
        let entry = serde_json::json!({
            "agentId": format!("{member}@crew"), "name": member, "joinedAt": 1, "tmuxPaneId": "%9",
            "cwd": "/", "subscriptions": [], "backendType": "tmux", "isActive": true,
        });
        config["members"].as_array_mut().unwrap().push(entry);
        std::fs::write(&file, config.to_string()).unwrap();
    }

    pub(crate) fn hold_life(&self, member: &str, spawn_id: SpawnId) -> Lease {
        let record = LifeRecord::new(LifeKind::Task, std::process::id(), "", spawn_id);
        let (files, member) = (self.files(), name(member));
        files.take_life(&member, &record).block_on().unwrap()
    }

    pub(crate) fn report(&self, member: &str, spawn_id: SpawnId, state: MemberState) {
        let report = StateReport::new(spawn_id, state, UnixMs(1));
        self.store
            .team(&self.team)
            .write_state(&name(member), &report)
            .block_on()
            .unwrap();
    }

    pub(crate) fn context(&self, member: &str, spawn_id: SpawnId) -> Seated {
        let events = Arc::default();
        let sink = Arc::clone(&events);
        let context = MemberContext::teammate(
            self.store.clone(),
            Arc::new(SystemClock),
            &AgentId::new(name(member), self.team.clone()),
            spawn_id,
            Some(Color::Green),
            move |event| record(&sink, event),
        );
        Seated {
            context: Arc::new(context),
            events,
        }
    }

    /// A member that has just joined, and its context.
    pub(crate) fn seat_of_new(&self, member: &str) -> Seated {
        let spawn = self.join(member);
        self.context(member, spawn)
    }

    /// The team `crew` and the context of a member that has just joined.
    pub(crate) fn with_context(member: &str) -> (Self, Arc<MemberContext>) {
        let world = Self::new();
        let context = world.seat_of_new(member).context;
        (world, context)
    }

    pub(crate) fn lead(&self) -> Seated {
        self.lead_of(Some(self.team.clone()))
    }

    pub(crate) fn lead_of(&self, team: Option<TeamName>) -> Seated {
        let events = Arc::default();
        let sink = Arc::clone(&events);
        let context = MemberContext::lead(
            self.store.clone(),
            Arc::new(SystemClock),
            SpawnId::random(),
            team,
            Arc::new(Creating(self.store.clone(), self.team.clone())),
            move |event| record(&sink, event),
        );
        Seated {
            context: Arc::new(context),
            events,
        }
    }

    pub(crate) fn unread(&self, member: &str) -> Vec<InboxEntry> {
        self.store
            .team(&self.team)
            .take_unread(&name(member))
            .block_on()
            .unwrap()
    }

    pub(crate) fn last_frame(&self, member: &str) -> ControlFrame {
        self.mail(member).pop().unwrap().frame.unwrap()
    }

    pub(crate) fn mail(&self, member: &str) -> Vec<Incoming> {
        sort_mail(self.unread(member))
    }

    /// Returns the unread messages of a member, as its model would read them.
    pub(crate) fn read(&self, member: &str) -> Vec<String> {
        let mail = self.mail(member);
        mail.iter()
            .map(|mail| mail.render(HandoffScan::On))
            .collect()
    }

    pub(crate) fn create(&self, subject: &str, owner: Option<&str>, blocked_by: &[u64]) -> TaskId {
        let new = NewTask {
            subject: subject.to_owned(),
            description: format!("all about {subject}"),
            owner: owner.map(name),
            blocked_by: blocked_by.iter().copied().map(id).collect(),
            ..NewTask::default()
        };
        let person = Actor::person(&self.team);
        self.store
            .team(&self.team)
            .create_tasks(&[new], &person)
            .block_on()
            .unwrap()[0]
    }

    pub(crate) fn task(&self, number: u64) -> Task {
        self.store
            .team(&self.team)
            .task(&id(number))
            .block_on()
            .unwrap()
    }

    /// Returns the names of the members with unread mail.
    pub(crate) fn receivers(&self) -> Vec<MemberName> {
        let mut names = self.files().config().block_on().unwrap().names();
        names.retain(|name| !self.unread(name.as_str()).is_empty());
        names
    }

    pub(crate) fn journal(&self) -> Vec<Event> {
        let events = self.store.team(&self.team).events().block_on().unwrap();
        let entries = events.entries.into_iter();
        entries.map(|entry| entry.event).collect()
    }
}

fn found(store: &dyn TeamStore, team: &TeamName) -> Result<(), StoreError> {
    let new = NewTeam::new(team.clone(), "/", "team-lead");
    store.create_team(new).block_on().map(drop)
}

fn record(events: &Mutex<Vec<AgentEvent>>, event: AgentEvent) {
    events.lock().push(event);
}

/// Creates the world's team for a lead that needs one.
#[derive(Debug)]
struct Creating(Arc<dyn TeamStore>, TeamName);

impl TeamCreator for Creating {
    fn create_team(&self) -> Result<TeamName, StoreError> {
        found(&*self.0, &self.1)?;
        Ok(self.1.clone())
    }
}

/// Calls a tool as the engine does.
pub(crate) async fn call(tool: &dyn Tool, input: Value) -> ToolOutput {
    let context = ToolContext {
        tool_use_id: "toolu_1".to_owned(),
        ..ToolContext::new(PathBuf::from("/"), Caller::new(MemberName::lead()))
    };
    tool.call(input, &context).await
}

pub(crate) fn now() -> UnixMs {
    SystemClock.now()
}
