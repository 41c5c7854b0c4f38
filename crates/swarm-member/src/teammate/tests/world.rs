//! A team with members and running teammates.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::ops::Deref;
use std::path::PathBuf;
use std::sync::Arc;

use parking_lot::Mutex;
use swarm_model::Model;
use swarm_protocol::{
    AgentEvent, AgentId, Answer, AnsweredBy, BackendType, Clock, ControlFrame, Event,
    IdleNotification, LEAD_NAME, MemberName, MemberState, MessageId, OnLost, PermissionMode,
    RequestId, RequestRecord, SessionId, SpawnId, SystemClock, UnixMs, partial_debug,
};
use swarm_store::{BlockOn as _, Draft, Lease, MemoryStore, TeamStore, process};
use swarm_supervisor::ProcessIdentity;
use swarm_team::{
    Incoming, MemberContext, MemberDefinition, MemberIdentity, MemberLimits, MemberPermissions,
    MemberRuntime, MemberSpec, MemberWorkspace, PaneSettings, ShutdownAsk, SpawnOrder, StateKeeper,
    answer_request, request_shutdown,
};
use swarm_testkit::DEADLINE;
pub(crate) use swarm_testkit::{name, team, until};
use swarm_ui::{PaneHeader, PaneInput, PaneView, Theme};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::JoinHandle;

use crate::ModelServices;
use crate::reporter::{PaneSink, Reporter, ReporterParts};
use crate::teammate::{
    Ending, ProcessFacts, TeammateError, TeammatePane, TeammateParts, Termination, run,
};

pub(crate) fn bob() -> MemberName {
    name("bob")
}

/// A team, and how its teammate bob runs.
pub(crate) struct World {
    crew: swarm_testkit::World,
    /// The conversation that every spawn of a member continues.
    session: SessionId,
    pub(crate) limits: MemberLimits,
    pub(crate) mode: PermissionMode,
    pub(crate) agent_config: swarm_permissions::AgentConfig,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) runtime: Arc<dyn swarm_agent::AgentRuntime>,
}

impl Deref for World {
    type Target = swarm_testkit::World;

    fn deref(&self) -> &Self::Target {
        &self.crew
    }
}

/// A teammate running as a task.
pub(crate) struct Running {
    pub(crate) spawn_id: SpawnId,
    pub(crate) terminate: Termination,
    task: JoinHandle<Result<Ending, TeammateError>>,
}

impl Running {
    pub(crate) async fn ending(self) -> Ending {
        let ended = tokio::time::timeout(DEADLINE, self.task).await;
        ended.expect("the teammate ends").unwrap().unwrap()
    }

    /// Aborts it at any point, like `kill -9`.
    pub(crate) async fn crash(self) {
        self.task.abort();
        assert!(self.task.await.unwrap_err().is_cancelled());
    }
}

/// Answers a request of a member with yes, for this once.
pub(crate) async fn approve(world: &World, request: &RequestRecord) {
    let (team, by) = (world.crew(), AnsweredBy::default());
    let answered = answer_request(&*team, request, Answer::once(), by).await;
    answered.unwrap();
}

impl World {
    pub(crate) fn new() -> Self {
        Self::of(swarm_testkit::World::new())
    }

    /// On files, for tests of what other programs write and of lost acknowledgements.
    pub(crate) fn on_files() -> Self {
        Self::of(swarm_testkit::World::on_files())
    }

    fn of(crew: swarm_testkit::World) -> Self {
        Self {
            crew,
            session: SessionId::random(),
            limits: MemberLimits {
                max_unread: 1000,
                max_message_bytes: 256 * 1024,
                max_requests: 20,
                permission_timeout_ms: 3_600_000,
                shutdown_grace_ms: 3_600_000,
                answer_timeout_ms: 0,
                remind: true,
                on_lost: OnLost::Park,
            },
            mode: PermissionMode::BypassPermissions,
            agent_config: swarm_permissions::AgentConfig::default(),
            clock: Arc::new(SystemClock),
            runtime: Arc::new(swarm_agent::ModelLoop),
        }
    }

    pub(crate) fn commit(&self, spawn: SpawnId) {
        swarm_testkit::commit(&self.store, spawn);
    }

    pub(crate) fn join(&self, member: &str, prompt: Option<&str>) -> SpawnId {
        let spawn = self.reserve(member, prompt);
        self.commit(spawn);
        spawn
    }

    /// Starts bob with a spawn that is in the roster.
    pub(crate) fn start(&self, spawn_id: SpawnId, model: &Arc<impl Model + 'static>) -> Running {
        let terminate = Termination::default();
        self.start_with(spawn_id, model, terminate)
    }

    pub(crate) fn start_with(
        &self,
        spawn_id: SpawnId,
        model: &Arc<impl Model + 'static>,
        terminate: Termination,
    ) -> Running {
        self.start_at(spawn_id, model, terminate, None)
    }

    /// Bob, committed and running, with a person at the pane.
    pub(crate) fn run_in_pane(
        &self,
        prompt: Option<&str>,
        model: &Arc<impl Model + 'static>,
    ) -> (Running, UnboundedSender<PaneInput>) {
        let (person, inputs) = unbounded_channel();
        let spawn = self.join("bob", prompt);
        let running = self.start_at(spawn, model, Termination::default(), Some(inputs));
        (running, person)
    }

    fn start_at(
        &self,
        spawn_id: SpawnId,
        model: &Arc<impl Model + 'static>,
        terminate: Termination,
        person: Option<UnboundedReceiver<PaneInput>>,
    ) -> Running {
        let model: Arc<dyn Model> = model.clone();
        let parts = TeammateParts {
            merger: None,
            isolator: None,
            order: self.order(spawn_id),
            root: self.root(),
            home: None,
            store: self.store.clone(),
            clock: self.clock.clone(),
            services: ModelServices {
                runtime: Arc::clone(&self.runtime),
                model,
                models: Arc::new(swarm_agent::NoOtherModels),
                spending: Arc::new(crate::SpendingMeter::new(
                    swarm_testkit::name("bob"),
                    &self.agent_config,
                    None,
                )),
            },
            process: self.process(),
            pane: TeammatePane::plain(Box::new(std::io::sink())),
            person,
            terminate: terminate.clone(),
        };
        Running {
            spawn_id,
            terminate,
            task: tokio::spawn(run(parts)),
        }
    }

    /// Bob, committed and running.
    pub(crate) fn run(&self, prompt: Option<&str>, model: &Arc<impl Model + 'static>) -> Running {
        self.start(self.join("bob", prompt), model)
    }

    fn order(&self, spawn_id: SpawnId) -> SpawnOrder {
        let verify_key = self.crew().verify_key().block_on();
        SpawnOrder {
            spec: MemberSpec {
                identity: MemberIdentity {
                    spawn_id,
                    agent: AgentId::new(bob(), team()),
                    color: None,
                    session_id: self.session,
                },
                runtime: MemberRuntime::new("fake/fake-1"),
                definition: MemberDefinition {
                    config: Arc::new(self.agent_config.clone()),
                    ..MemberDefinition::default()
                },
                permissions: MemberPermissions {
                    verify_key: verify_key.unwrap(),
                    ..MemberPermissions::new(self.mode, self.mode)
                },
                workspace: MemberWorkspace {
                    cwd: self.directory.path().to_owned(),
                    env: BTreeMap::from([
                        ("PATH".to_owned(), "/usr/bin:/bin".to_owned()),
                        ("SWARM_SPAWN_ID".to_owned(), spawn_id.to_string()),
                    ]),
                    ..MemberWorkspace::default()
                },
                limits: self.limits,
            },
            pane: PaneSettings {
                color: false,
                bell: true,
            },
            lead_pane: None,
            version: "0.0.0".to_owned(),
            deadline: UnixMs(SystemClock.now().0 + 60_000),
        }
    }

    fn process(&self) -> ProcessFacts {
        ProcessFacts {
            identity: ProcessIdentity {
                pid: std::process::id(),
                start: String::new(),
                host: "here".to_owned(),
                pid_space: String::new(),
            },
            machine: swarm_agent::HostFacts::default(),
            cwd: self.directory.path().to_owned(),
            worktree: None,
            pane: None,
            backend: BackendType::Headless,
            version: "0.0.0".to_owned(),
        }
    }

    /// Returns the store, if it is in memory.
    pub(crate) fn memory(&self) -> MemoryStore {
        self.crew.memory.clone().expect("a world in memory")
    }

    fn root(&self) -> PathBuf {
        self.directory.path().join("root")
    }

    /// Makes this process the lead while the lock is held.
    pub(crate) fn lead(&self) -> Lease {
        let lead = process::as_lead(SystemClock.now());
        self.crew().set_lead_process(Some(lead)).block_on().unwrap();
        self.live(LEAD_NAME, SpawnId::random())
    }

    /// Returns the journal's events of one kind.
    pub(crate) fn journalled(&self, is_meant: impl Fn(&Event) -> bool) -> usize {
        let events = self.journal();
        events.iter().filter(|event| is_meant(event)).count()
    }

    /// Returns the index of the first event of a kind in the journal.
    pub(crate) fn happened(&self, is_meant: impl Fn(&Event) -> bool) -> usize {
        let found = self.journal().iter().position(is_meant);
        found.expect("the event is in the journal")
    }

    pub(crate) fn transcript_path(&self) -> PathBuf {
        swarm_agent::transcript_path(&self.root(), self.directory.path(), self.session)
    }

    /// Returns the transcript of bob's conversation on disk.
    pub(crate) fn transcript(&self) -> String {
        std::fs::read_to_string(self.transcript_path()).unwrap_or_default()
    }

    pub(crate) fn inbox_path(&self) -> PathBuf {
        self.file("inboxes/bob.json")
    }

    pub(crate) fn send(&self, draft: Draft) -> swarm_protocol::MessageId {
        self.crew().send(&bob(), draft).block_on().unwrap()
    }

    pub(crate) fn say(&self, text: &str) -> swarm_protocol::MessageId {
        self.send(Draft::new(LEAD_NAME, text))
    }

    /// Returns bob's spawn in the roster.
    pub(crate) fn spawn_of_bob(&self) -> Option<SpawnId> {
        let config = self.crew().config().block_on().unwrap();
        config.member(&bob())?.spawn_id()
    }

    pub(crate) fn ask_to_stop(&self) -> RequestId {
        self.ask(false)
    }

    /// Stops it with a forced request.
    pub(crate) fn force_to_stop(&self) -> RequestId {
        self.ask(true)
    }

    fn ask(&self, force: bool) -> RequestId {
        let team = self.crew();
        let ask = ShutdownAsk {
            reason: Some("all is done"),
            by: "team-lead",
            spawn_id: self.spawn_of_bob(),
            force,
        };
        request_shutdown(&*team, &bob(), SystemClock.now(), ask)
            .block_on()
            .unwrap()
    }

    /// Returns all messages to the lead, read or unread.
    pub(crate) fn leads_mail(&self) -> Vec<Incoming> {
        self.mail(LEAD_NAME)
    }

    pub(crate) fn idle_notices(&self) -> Vec<IdleNotification> {
        let mail = self.leads_mail().into_iter();
        mail.filter_map(|incoming| match incoming {
            Incoming {
                frame: Some(ControlFrame::IdleNotification(frame)),
                ..
            } => Some(frame),
            _ => None,
        })
        .collect()
    }

    /// Waits for a number of idle notices.
    pub(crate) async fn idle(&self, count: usize) -> Vec<IdleNotification> {
        let notices = until("idle notices", || {
            Some(self.idle_notices()).filter(|notices| notices.len() >= count)
        })
        .await;
        assert_eq!(notices.len(), count);
        notices
    }

    /// Waits until bob has no unread messages.
    pub(crate) async fn has_read_all(&self) {
        until("the acknowledgement", || {
            (self.unread("bob") == 0).then_some(())
        })
        .await;
    }

    pub(crate) fn state(&self) -> Option<MemberState> {
        let report = self.crew().state(&bob()).block_on().unwrap();
        report.map(|report| report.state)
    }

    /// Waits until bob reports a state. He is idle only without unread mail: working is reported
    /// when his request is sent, before his mail is marked as read.
    pub(crate) async fn in_state(&self, state: MemberState) {
        until(state.name(), || {
            let waits = state == MemberState::Idle && self.unread("bob") > 0;
            (!waits && self.state() == Some(state)).then_some(())
        })
        .await;
    }

    pub(crate) fn outcomes(&self) -> Vec<String> {
        let events = self.journal().into_iter();
        events
            .filter_map(|event| match event {
                Event::TurnEnded { outcome, .. } => Some(outcome),
                _ => None,
            })
            .collect()
    }

    /// Marks all messages of bob as unread, as if no acknowledgement was on disk.
    pub(crate) fn forget_acks(&self) {
        let path = self.inbox_path();
        let text = std::fs::read_to_string(&path).unwrap();
        let text = text.replace("\"read\": true", "\"read\": false");
        swarm_os::replace_alone(&path, text.as_bytes()).unwrap();
    }

    pub(crate) fn context(&self, spawn_id: SpawnId) -> Arc<MemberContext> {
        self.seat_at(self.store.clone(), spawn_id)
    }

    pub(crate) fn seat_at(
        &self,
        store: Arc<dyn TeamStore>,
        spawn_id: SpawnId,
    ) -> Arc<MemberContext> {
        let agent = AgentId::new(bob(), team());
        let nobody = |_: AgentEvent| {};
        Arc::new(MemberContext::teammate(
            store,
            self.clock.clone(),
            &agent,
            spawn_id,
            None,
            nobody,
        ))
    }

    pub(crate) fn reporter(&self, spawn_id: SpawnId) -> Arc<Reporter> {
        self.reporter_on(spawn_id, Box::new(std::io::sink()))
    }

    pub(crate) fn reporter_on(
        &self,
        spawn_id: SpawnId,
        screen: Box<dyn Write + Send>,
    ) -> Arc<Reporter> {
        let header = PaneHeader {
            name: bob(),
            color: None,
            team: Some(team()),
            model: String::new(),
            mode: self.mode,
            cwd: self.root(),
            home: None,
        };
        let view = PaneView::new(screen, Theme::PLAIN, &header);
        let keeper = StateKeeper::new(bob(), spawn_id, UnixMs(1));
        let team = self.crew();
        Arc::new(Reporter::new(ReporterParts {
            clock: self.clock.clone(),
            name: bob(),
            team: Box::new(move || Some(Arc::clone(&team))),
            keeper,
            view: Arc::new(PaneSink::new(view)),
        }))
    }
}

/// The content of a pane.
#[derive(Clone, Default)]
pub(crate) struct Screen(Arc<Mutex<Vec<u8>>>);

impl Screen {
    /// Returns how often it contains a text.
    pub(crate) fn count(&self, text: &str) -> usize {
        let shown = String::from_utf8(self.0.lock().clone()).unwrap();
        shown.matches(text).count()
    }
}

impl Write for Screen {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A clock that runs a check at each reading: at every event of the teammate.
pub(crate) struct Lookout(pub(crate) Box<dyn Fn() + Send + Sync>);

partial_debug!(Lookout);

impl Clock for Lookout {
    fn now(&self) -> UnixMs {
        (self.0)();
        SystemClock.now()
    }
}

/// Returns whether an event is the delivery of a message.
pub(crate) fn delivers(event: &Event, id: &MessageId) -> bool {
    matches!(event, Event::Delivered { msg_id, .. } if msg_id == id)
}
