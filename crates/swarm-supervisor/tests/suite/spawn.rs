//! Spawns with a simulated child, on a backend that opens no panes.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use swarm_panes::recording::Call;
use swarm_panes::{Chosen, Pane, PaneBackend, RecordingBackend};
use swarm_protocol::{
    BackendType, ErrorKind, Event, Hello, InboxEntry, Member, PaneId, PermissionMode, SpawnId,
    TeamConfig,
};
use swarm_store::{BlockOn as _, Draft, Lease, StoreError, TeamStore};
use swarm_team::SpawnOrder;
use tokio_util::sync::CancellationToken;

use swarm_supervisor::{LeadError, SpawnOptions, SpawnedMember, spawn, spawn_in};
use swarm_testkit::{Answer, World, hold_life, name, team, until};

fn options(world: &World) -> SpawnOptions {
    SpawnOptions {
        name: name("bob"),
        agent_type: None,
        prompt: Some(Draft::new("team-lead", "run the tests")),
        effort: None,
        runtime: None,
        model: None,
        mode: None,
        plan: false,
        cwd: world.path(),
        worktree: None,
        backend: None,
        env: std::collections::BTreeMap::new(),
        replace: false,
        fresh: false,
        timeout: None,
        cancel: CancellationToken::new(),
    }
}

/// State of a simulated child.
#[derive(Clone, Default)]
struct Stage {
    backend: RecordingBackend,
    lives: Arc<Mutex<Vec<Lease>>>,
    order: Arc<Mutex<Option<(SpawnOrder, u32)>>>,
}

impl Stage {
    fn new() -> Self {
        Self::default()
    }

    /// Starts a child that takes its order, keeps running and sends its hello after `change`.
    fn says_hello(world: &World, change: impl Fn(&mut Hello) + Send + Sync + 'static) -> Self {
        let stage = Self::new();
        let (store, play) = (world.store.clone(), stage.clone());
        let change = Arc::new(change);
        stage.backend.on_start(move |pane, command| {
            let path = order_path(&*store, &command.args[3].to_string_lossy());
            let mode = std::fs::metadata(&path).unwrap().permissions().mode();
            let order = SpawnOrder::take(&path).unwrap();
            let mut hello = hello(&order, pane);
            change(&mut hello);
            *play.order.lock() = Some((order.clone(), mode & 0o777));
            let (store, lives) = (store.clone(), play.lives.clone());
            // On a separate thread, because the spawner is already waiting.
            std::thread::spawn(move || {
                let life = hold_life(&store, &team(), "bob", order.spawn_id);
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

    async fn spawn(
        &self,
        world: &World,
        options: SpawnOptions,
    ) -> Result<SpawnedMember, LeadError> {
        let backend: Arc<dyn PaneBackend> = Arc::new(self.backend.clone());
        let chosen = Chosen {
            backend: BackendType::Tmux,
            why: "a test".to_owned(),
        };
        spawn_in(
            &world.spawn_context,
            &team(),
            options,
            (backend, chosen),
            None,
        )
        .await
    }

    fn order(&self) -> (SpawnOrder, u32) {
        self.order.lock().clone().unwrap()
    }

    fn open_panes(&self) -> usize {
        let calls = self.backend.calls();
        let opened = calls
            .iter()
            .filter(|call| matches!(call, Call::Open { .. }));
        let closed = calls
            .iter()
            .filter(|call| matches!(call, Call::Close { .. }));
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
        spawn_id: order.spawn_id,
        pid: std::process::id(),
        proc_start: String::new(),
        pane: Some(pane.id.clone()),
        cwd: order.cwd.clone(),
        worktree: None,
        model: order.model.clone(),
        mode: order.mode,
        tools: Vec::new(),
        session_id: order.session_id,
        version: order.version.clone(),
    }
}

fn entry(world: &World) -> Option<Member> {
    let config = world.store.team(&team()).config().block_on().unwrap();
    config.member(&name("bob")).cloned()
}

/// Returns roster and inbox.
fn before(world: &World) -> (TeamConfig, Vec<InboxEntry>) {
    let files = world.store.team(&team());
    // A name without an inbox is unknown.
    let inbox = files.inbox(&name("bob")).block_on();
    let inbox = inbox.map(|inbox| inbox.entries).unwrap_or_default();
    (files.config().block_on().unwrap(), inbox)
}

fn aborted_spawns(world: &World) -> usize {
    let journal = world.journal();
    let aborted = |event: &&Event| matches!(event, Event::SpawnAborted { .. });
    journal.iter().filter(aborted).count()
}

/// Asserts that a failed spawn leaves no trace: roster and inbox unchanged, no order, no pane, and
/// an event with the reason.
fn assert_undone(world: &World, stage: &Stage, was: &(TeamConfig, Vec<InboxEntry>)) {
    assert_eq!(before(world), *was);
    assert_eq!(orders(world), Vec::<PathBuf>::new());
    assert_eq!(stage.open_panes(), 0);
    assert_eq!(aborted_spawns(world), 1);
}

fn orders(world: &World) -> Vec<PathBuf> {
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

#[tokio::test]
async fn s3_spawn_returns_after_the_hello() {
    let world = World::new();
    let stage = Stage::says_hello(&world, |_| {});
    let spawned = stage.spawn(&world, options(&world)).await.unwrap();
    let (order, mode) = stage.order();
    assert_eq!(spawned.spawn_id, order.spawn_id);
    assert_eq!(spawned.pane, PaneId::new("%1"));
    assert_eq!(spawned.hello.session_id, order.session_id);
    let entry = entry(&world).unwrap();
    assert_eq!(entry.spawn_id(), Some(order.spawn_id));
    assert_eq!(entry.swarm.as_ref().unwrap().reservation, None);
    assert_eq!(
        (&entry.tmux_pane_id, &entry.backend_type),
        (&spawned.pane, &Some(BackendType::Tmux))
    );
    assert_eq!(entry.session(), Some(order.session_id));
    assert_eq!(mode, 0o600);
    assert!(orders(&world).is_empty());
    let mail = world.mail("bob");
    assert_eq!(mail.len(), 1);
    assert_eq!(mail[0].entry.text, "run the tests");
}

#[tokio::test]
async fn s11_order_contains_inherited_values_and_command_line_no_secret() {
    let world = World::new();
    let stage = Stage::says_hello(&world, |_| {});
    let mut options = options(&world);
    options.env.insert("FOO".to_owned(), "a b;$x".to_owned());
    options
        .env
        .insert("SWARM_NAME".to_owned(), "team-lead".to_owned());
    stage.spawn(&world, options).await.unwrap();
    let (order, _) = stage.order();
    assert_eq!(order.provider["ANTHROPIC_API_KEY"], "key-secret");
    assert_eq!(order.env["FOO"], "a b;$x");
    assert_eq!(order.env["SWARM_NAME"], "bob");
    assert_eq!(order.env["SWARM_SPAWN_ID"], order.spawn_id.to_string());
    assert!(!order.env.contains_key("ANTHROPIC_API_KEY"));
    assert_eq!(
        (order.model.as_str(), order.mode),
        ("fake/fake-1", PermissionMode::Default)
    );
    assert_eq!(
        (order.allow.len(), order.deny.len(), order.ask.len()),
        (1, 1, 1)
    );
    let calls = stage.backend.calls();
    let [Call::Open { .. }, Call::Start { command, .. }] = &calls[..] else {
        panic!("{calls:?}");
    };
    assert!(!format!("{command:?}").contains("secret"));
    let mark = ("SWARM_SPAWN_ID".to_owned(), order.spawn_id.to_string());
    assert!(command.env.contains(&mark));
    assert_eq!(command.cwd, world.path());
}

#[tokio::test]
async fn s3_early_exit_fails_the_spawn_with_status_and_output() {
    let world = World::new();
    let stage = Stage::new();
    let backend = stage.backend.clone();
    stage.backend.on_start(move |pane, _| {
        backend.set_content(&pane.id, "cannot open\nthe pod bay doors\n");
        backend.finish(&pane.id, 7);
    });
    let was = before(&world);
    let error = stage.spawn(&world, options(&world)).await.unwrap_err();
    let said = error.to_string();
    assert!(matches!(error, LeadError::EarlyExit { .. }), "{said}");
    for words in ["bob was not spawned", "exit status 7", "the pod bay doors"] {
        assert!(said.contains(words), "{said}");
    }
    assert_eq!(error.kind(), ErrorKind::AgentFailed);
    assert_undone(&world, &stage, &was);
}

#[tokio::test]
async fn s3_child_that_exits_without_output_fails_the_spawn() {
    let world = World::new();
    let stage = Stage::new();
    let backend = stage.backend.clone();
    stage
        .backend
        .on_start(move |pane, _| backend.finish(&pane.id, 0));
    let was = before(&world);
    let error = stage.spawn(&world, options(&world)).await.unwrap_err();
    assert!(error.to_string().contains("its pane is gone"), "{error}");
    assert_undone(&world, &stage, &was);
}

#[tokio::test]
async fn s3_missing_hello_fails_the_spawn_at_the_timeout() {
    let world = World::new();
    let stage = Stage::new();
    let backend = stage.backend.clone();
    stage
        .backend
        .on_start(move |pane, _| backend.set_content(&pane.id, "Do you trust this directory?"));
    let mut options = options(&world);
    options.timeout = Some(Duration::from_millis(50));
    let was = before(&world);
    let error = stage.spawn(&world, options).await.unwrap_err();
    assert!(matches!(error, LeadError::NoHello { .. }), "{error}");
    assert!(
        error.to_string().contains("Do you trust this directory?"),
        "{error}"
    );
    assert_eq!(error.kind(), ErrorKind::TimedOut);
    assert_undone(&world, &stage, &was);
}

#[tokio::test]
async fn hello_of_an_earlier_spawn_is_ignored() {
    let world = World::new();
    let stage = Stage::says_hello(&world, |hello| {
        hello.spawn_id = swarm_protocol::SpawnId::random();
    });
    let mut options = options(&world);
    options.timeout = Some(Duration::from_millis(50));
    let was = before(&world);
    let error = stage.spawn(&world, options).await.unwrap_err();
    assert!(matches!(error, LeadError::NoHello { .. }), "{error}");
    assert_undone(&world, &stage, &was);
}

#[tokio::test]
async fn s3_a_child_that_runs_with_other_values_fails_the_spawn() {
    type Change = fn(&mut Hello);
    let changes: [(&str, Change); 3] = [
        ("model", |hello| hello.model = "cheap/one".to_owned()),
        ("permission mode", |hello| {
            hello.mode = PermissionMode::BypassPermissions;
        }),
        ("pane", |hello| hello.pane = Some(PaneId::new("%77"))),
    ];
    for (what, change) in changes {
        let world = World::new();
        let stage = Stage::says_hello(&world, change);
        let was = before(&world);
        let error = stage.spawn(&world, options(&world)).await.unwrap_err();
        assert!(matches!(error, LeadError::Mismatch { .. }), "{error}");
        assert!(error.to_string().contains(what), "{error}");
        stage.lives.lock().clear();
        assert_undone(&world, &stage, &was);
    }
}

#[tokio::test]
async fn failed_backend_leaves_no_trace() {
    let world = World::new();
    let stage = Stage::new();
    let was = before(&world);
    stage.backend.refuse_start(Some("the pane is gone"));
    let error = stage.spawn(&world, options(&world)).await.unwrap_err();
    assert!(matches!(error, LeadError::Pane(_)), "{error}");
    assert_undone(&world, &stage, &was);
    let world = World::new();
    let stage = Stage::new();
    let was = before(&world);
    stage.backend.refuse_open(Some("no room"));
    stage.spawn(&world, options(&world)).await.unwrap_err();
    assert_undone(&world, &stage, &was);
}

#[tokio::test]
async fn invalid_spawn_is_rejected_before_any_change() {
    let mut world = World::new();
    let was = before(&world);
    let mut high = options(&world);
    high.mode = Some(PermissionMode::BypassPermissions);
    let error = spawn(&world.spawn_context, &team(), high)
        .await
        .unwrap_err();
    assert!(matches!(error, LeadError::AboveCeiling { .. }), "{error}");
    assert_eq!(error.kind(), ErrorKind::Refused);
    let mut other = options(&world);
    other.model = Some("fake/forbidden".to_owned());
    let resolve = Arc::clone(&world.spawn_context.resolve_model);
    world.spawn_context.resolve_model = Arc::new(|_| Err("not on this machine".to_owned()));
    let error = spawn(&world.spawn_context, &team(), other)
        .await
        .unwrap_err();
    assert!(matches!(error, LeadError::Model { .. }), "{error}");
    assert_eq!(error.kind(), ErrorKind::Refused);
    world.spawn_context.resolve_model = resolve;
    let mut nowhere = options(&world);
    nowhere.cwd = world.path().join("nowhere");
    let error = spawn(&world.spawn_context, &team(), nowhere)
        .await
        .unwrap_err();
    assert!(error.to_string().contains("nowhere"), "{error}");
    assert_eq!(error.kind(), ErrorKind::Usage);
    world.spawn_context.program = world.path().join("no-program");
    let error = spawn(&world.spawn_context, &team(), options(&world))
        .await
        .unwrap_err();
    assert!(error.to_string().contains("no-program"), "{error}");
    assert_eq!(error.kind(), ErrorKind::Environment);
    assert_eq!(before(&world), was);
    assert!(orders(&world).is_empty());
}

#[tokio::test]
async fn a_lower_mode_than_the_ceiling_is_honoured() {
    let world = World::new();
    let stage = Stage::says_hello(&world, |_| {});
    let mut options = options(&world);
    options.mode = Some(PermissionMode::Plan);
    let spawned = stage.spawn(&world, options).await.unwrap();
    assert_eq!(spawned.hello.mode, PermissionMode::Plan);
}

#[tokio::test]
async fn p5_member_in_another_directory_gets_the_rule_root() {
    let world = World::new();
    let stage = Stage::says_hello(&world, |_| {});
    let spawned = options(&world);
    let sub = spawned.cwd.join("sub");
    std::fs::create_dir(&sub).unwrap();
    stage
        .spawn(
            &world,
            SpawnOptions {
                cwd: sub,
                ..spawned
            },
        )
        .await
        .unwrap();
    let actor = &world.spawn_context.cwd;
    let anchors = stage.order().0.anchors;
    assert_eq!(anchors.above, std::slice::from_ref(actor));
    assert_eq!(anchors.grants.as_ref(), Some(actor));
}

#[tokio::test]
async fn cancelled_spawn_is_rolled_back() {
    let world = World::new();
    let stage = Stage::new();
    let options = options(&world);
    let cancel = options.cancel.clone();
    stage.backend.on_start(move |_, _| cancel.cancel());
    let was = before(&world);
    let error = stage.spawn(&world, options).await.unwrap_err();
    assert!(matches!(error, LeadError::Interrupted(_)), "{error}");
    assert_undone(&world, &stage, &was);
}

#[tokio::test]
async fn abandoned_spawn_is_rolled_back() {
    let world = World::new();
    let stage = Stage::new();
    let started = Arc::new(tokio::sync::Notify::new());
    let tell = started.clone();
    stage.backend.on_start(move |_, _| tell.notify_one());
    let was = before(&world);
    tokio::select! {
        _ = stage.spawn(&world, options(&world)) => panic!("nobody said hello"),
        () = started.notified() => {}
    }
    until("the end of the undoing", || {
        (aborted_spawns(&world) == 1 && stage.open_panes() == 0).then_some(())
    })
    .await;
    assert_undone(&world, &stage, &was);
}

#[tokio::test]
async fn aborted_spawn_is_not_committed() {
    let world = World::new();
    let store = world.store.clone();
    let stage = Stage::says_hello(&world, move |hello| {
        store
            .team(&team())
            .abort_spawn(&hello.spawn_id, "a test")
            .block_on()
            .unwrap();
    });
    let was = before(&world);
    let error = stage.spawn(&world, options(&world)).await.unwrap_err();
    assert!(
        matches!(error, LeadError::Store(StoreError::SpawnGone { .. })),
        "{error}"
    );
    assert_undone(&world, &stage, &was);
}

/// Starts a child that exits immediately, after `meanwhile` was applied to its spawn.
fn ends_after(world: &World, meanwhile: fn(&dyn TeamStore, SpawnId)) -> Stage {
    let stage = Stage::new();
    let (store, backend) = (world.store.clone(), stage.backend.clone());
    stage.backend.on_start(move |pane, command| {
        let spawn = command.args[3].to_string_lossy().parse().unwrap();
        meanwhile(&*store, spawn);
        backend.finish(&pane.id, 1);
    });
    stage
}

#[tokio::test]
async fn spawner_reports_the_abort_and_not_its_consequences() {
    let world = World::new();
    let undone = ends_after(&world, |store, spawn| {
        assert!(
            store
                .team(&team())
                .abort_spawn(&spawn, "a test")
                .block_on()
                .unwrap()
        );
    });
    let error = undone.spawn(&world, options(&world)).await.unwrap_err();
    assert!(
        matches!(error, LeadError::Store(StoreError::SpawnGone { .. })),
        "{error}"
    );
    let deleted = ends_after(&world, |store, _| {
        store.team(&team()).delete(true, true).block_on().unwrap();
    });
    let error = deleted.spawn(&world, options(&world)).await.unwrap_err();
    assert!(
        matches!(error, LeadError::Store(StoreError::TeamNotFound { .. })),
        "{error}"
    );
    let failed = World::new();
    let stage = ends_after(&failed, |_, _| ());
    let error = stage.spawn(&failed, options(&failed)).await.unwrap_err();
    assert!(matches!(error, LeadError::EarlyExit { .. }), "{error}");
}

#[tokio::test]
async fn failed_spawn_keeps_mail_of_others_and_removes_its_prompt() {
    let world = World::new();
    let stage = Stage::new();
    let (store, backend) = (world.store.clone(), stage.backend.clone());
    stage.backend.on_start(move |pane, _| {
        let draft = Draft::new("team-lead", "by the way");
        store
            .team(&team())
            .send(&name("bob"), draft)
            .block_on()
            .unwrap();
        backend.finish(&pane.id, 1);
    });
    stage.spawn(&world, options(&world)).await.unwrap_err();
    let texts: Vec<_> = world
        .mail("bob")
        .iter()
        .map(|mail| mail.entry.text.clone())
        .collect();
    assert_eq!(texts, ["by the way"]);
}

#[tokio::test]
async fn s13_name_of_a_running_member_is_taken() {
    let world = World::new();
    let spawn = world.join("bob");
    let _life = world.live("bob", spawn);
    let stage = Stage::says_hello(&world, |_| {});
    let error = stage.spawn(&world, options(&world)).await.unwrap_err();
    assert!(
        matches!(error, LeadError::Store(StoreError::NameTaken { .. })),
        "{error}"
    );
    assert_eq!(entry(&world).unwrap().spawn_id(), Some(spawn));
    assert_eq!(stage.backend.calls(), []);
}

#[tokio::test]
async fn dead_members_conversation_is_continued_unless_fresh() {
    for (fresh, replace) in [(false, false), (false, true), (true, false)] {
        let world = World::new();
        let spawn = world.join("bob");
        drop(world.live("bob", spawn));
        let former = entry(&world).unwrap().session().unwrap();
        let stage = Stage::says_hello(&world, |_| {});
        let options = SpawnOptions {
            replace,
            fresh,
            ..options(&world)
        };
        let spawned = stage.spawn(&world, options).await.unwrap();
        assert_eq!(spawned.hello.session_id == former, !fresh);
    }
}

#[tokio::test]
async fn dead_member_keeps_its_entry_if_the_restart_fails() {
    for replace in [false, true] {
        let world = World::new();
        let spawn = world.join("bob");
        drop(world.live("bob", spawn));
        swarm_team::reconcile(&world.store.team(&team())).unwrap();
        let stage = Stage::new();
        let backend = stage.backend.clone();
        stage
            .backend
            .on_start(move |pane, _| backend.finish(&pane.id, 1));
        let was = before(&world);
        let options = SpawnOptions {
            replace,
            ..options(&world)
        };
        stage.spawn(&world, options).await.unwrap_err();
        assert_undone(&world, &stage, &was);
        assert_eq!(entry(&world).unwrap().spawn_id(), Some(spawn));
    }
}

#[tokio::test]
async fn replaced_member_is_stopped_first_and_its_conversation_continued() {
    let world = World::new();
    let spawn = world.join("bob");
    let former = entry(&world).unwrap();
    let bob = world.play("bob", spawn, Answer::Approve);
    let leaves = std::thread::spawn(move || drop(bob.join().unwrap()));
    let stage = Stage::says_hello(&world, |_| {});
    let options = SpawnOptions {
        replace: true,
        ..options(&world)
    };
    let spawned = stage.spawn(&world, options).await.unwrap();
    leaves.join().unwrap();
    assert_eq!(world.stops(), ["approved"]);
    assert_eq!(Some(spawned.hello.session_id), former.session());
    assert_eq!(spawned.color, former.known_color());
    assert_ne!(spawned.spawn_id, spawn);
}

#[tokio::test]
async fn hello_timeout_may_be_arbitrarily_long() {
    let world = World::new();
    let stage = Stage::says_hello(&world, |_| {});
    let options = SpawnOptions {
        timeout: Some(Duration::MAX),
        ..options(&world)
    };
    stage.spawn(&world, options).await.unwrap();
}

#[tokio::test]
async fn ten_concurrent_spawns_of_one_name_create_one_member() {
    let world = World::new();
    let stage = Stage::says_hello(&world, |_| {});
    let spawns = (0..10).map(|_| stage.spawn(&world, options(&world)));
    let results = futures::future::join_all(spawns).await;
    assert_eq!(results.iter().filter(|result| result.is_ok()).count(), 1);
    assert_eq!(stage.open_panes(), 1);
    assert_eq!(world.unread("bob"), 1);
    assert!(entry(&world).is_some());
}
