//! A spawn with a simulated child, on a backend that opens no panes.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::Arc;

use parking_lot::Mutex;
use swarm_agent::MemberRequest;
use swarm_panes::{Chosen, Pane, PaneBackend};
use swarm_protocol::{BackendType, Event, Hello, InboxEntry, Member, TeamConfig};
use swarm_store::{BlockOn as _, Draft, Lease, TeamStore};
use swarm_supervisor::{LeadError, SpawnError, SpawnOptions, SpawnedMember};
use swarm_team::SpawnOrder;
use swarm_testkit::{PaneCall, RecordingBackend, World, hold_life, name, team};

pub(crate) fn options(world: &World) -> SpawnOptions {
    SpawnOptions {
        prompt: Some(Draft::new("team-lead", "run the tests")),
        ..SpawnOptions::new(name("bob"), MemberRequest::default(), world.path())
    }
}

/// State of a simulated child.
#[derive(Clone, Default)]
pub(crate) struct Stage {
    pub(crate) backend: RecordingBackend,
    pub(crate) lives: Arc<Mutex<Vec<Lease>>>,
    pub(crate) order: Arc<Mutex<Option<(SpawnOrder, u32)>>>,
}

impl Stage {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// Starts a child that takes its order, keeps running and sends its hello after `change`.
    pub(crate) fn says_hello(
        world: &World,
        change: impl Fn(&mut Hello) + Send + Sync + 'static,
    ) -> Self {
        let stage = Self::new();
        let (store, play) = (world.store.clone(), stage.clone());
        let change = Arc::new(change);
        let version = world.spawn_context.version.clone();
        stage.backend.on_start(move |pane, command| {
            let path = order_path(&*store, &command.args[3].to_string_lossy());
            let mode = std::fs::metadata(&path).unwrap().permissions().mode();
            let order = SpawnOrder::take(&path, &version).unwrap();
            let mut hello = hello(&order, pane);
            change(&mut hello);
            *play.order.lock() = Some((order.clone(), mode & 0o777));
            let (store, lives) = (store.clone(), play.lives.clone());
            // On a separate thread, because the spawner is already waiting.
            std::thread::spawn(move || {
                let life = hold_life(&store, &team(), "bob", order.spec.identity.spawn_id);
                lives.lock().push(life);
                store
                    .team(&team())
                    .write_hello(&name("bob"), &hello)
                    .block_on()
                    .unwrap();
            });
        });
        stage
    }

    /// Spawns a member, which fails and leaves no trace. Returns why.
    pub(crate) async fn fails(&self, world: &World, options: SpawnOptions) -> LeadError {
        let was = before(world);
        let error = self.spawn(world, options).await.unwrap_err();
        self.lives.lock().clear();
        assert_undone(world, self, &was);
        error
    }

    pub(crate) async fn spawn(
        &self,
        world: &World,
        options: SpawnOptions,
    ) -> Result<SpawnedMember, LeadError> {
        let backend: Arc<dyn PaneBackend> = Arc::new(self.backend.clone());
        let chosen = Chosen {
            backend: BackendType::Tmux,
            why: "a test".to_owned(),
        };
        let team = team();
        let team = world.spawn_context.team(&team);
        team.spawn_in(options, (backend, chosen), None).await
    }

    pub(crate) fn order(&self) -> (SpawnOrder, u32) {
        self.order.lock().clone().unwrap()
    }

    pub(crate) fn open_panes(&self) -> usize {
        let calls = self.backend.calls();
        let opened = calls
            .iter()
            .filter(|call| matches!(call, PaneCall::Open { .. }));
        let closed = calls
            .iter()
            .filter(|call| matches!(call, PaneCall::Close { .. }));
        opened.count() - closed.count()
    }
}

fn order_path(store: &dyn TeamStore, spawn: &str) -> PathBuf {
    let directory = store.team(&team()).local_directory(&name("bob"));
    directory.join(SpawnOrder::file_name(spawn.parse().unwrap()))
}

fn hello(order: &SpawnOrder, pane: &Pane) -> Hello {
    Hello {
        definition: None,
        spawn_id: order.spec.identity.spawn_id,
        pid: std::process::id(),
        proc_start: String::new(),
        pane: Some(pane.id.clone()),
        cwd: order.spec.workspace.cwd.clone(),
        worktree: None,
        model: order.spec.runtime.model.clone(),
        mode: order.spec.permissions.mode,
        tools: Vec::new(),
        session_id: order.spec.identity.session_id,
        version: order.version.clone(),
    }
}

pub(crate) fn entry(world: &World) -> Option<Member> {
    let config = world.store.team(&team()).config().block_on().unwrap();
    config.member(&name("bob")).cloned()
}

/// Returns roster and inbox.
pub(crate) fn before(world: &World) -> (TeamConfig, Vec<InboxEntry>) {
    let files = world.store.team(&team());
    // A name without an inbox is unknown.
    let inbox = files.inbox(&name("bob")).block_on();
    let inbox = inbox.map(|inbox| inbox.entries).unwrap_or_default();
    (files.config().block_on().unwrap(), inbox)
}

pub(crate) fn aborted_spawns(world: &World) -> usize {
    let journal = world.journal();
    let aborted = |event: &&Event| matches!(event, Event::SpawnAborted { .. });
    journal.iter().filter(aborted).count()
}

/// Returns why a member was not spawned.
pub(crate) fn why(error: &LeadError) -> Option<&SpawnError> {
    match error {
        LeadError::NotSpawned { why, .. } => Some(why),
        _ => None,
    }
}

/// Asserts that a failed spawn leaves no trace: roster and inbox unchanged, no order, no pane, and
/// an event with the reason.
pub(crate) fn assert_undone(world: &World, stage: &Stage, was: &(TeamConfig, Vec<InboxEntry>)) {
    assert_eq!(before(world), *was);
    assert_eq!(orders(world), Vec::<PathBuf>::new());
    assert_eq!(stage.open_panes(), 0);
    assert_eq!(aborted_spawns(world), 1);
}

pub(crate) fn orders(world: &World) -> Vec<PathBuf> {
    let directory = world.store.team(&team()).local_directory(&name("bob"));
    let Ok(entries) = std::fs::read_dir(directory) else {
        return Vec::new();
    };
    entries
        .map(|entry| entry.unwrap().path())
        .filter(|path| {
            path.file_name()
                .unwrap()
                .to_string_lossy()
                .starts_with("order")
        })
        .collect()
}
