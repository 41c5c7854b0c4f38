//! Spawns with a simulated child.

use std::sync::Arc;
use std::time::Duration;

use swarm_protocol::{BackendType, ErrorKind, PaneId, PermissionMode, SandboxKind};
use swarm_store::StoreError;
use swarm_supervisor::{LeadError, SpawnError, SpawnOptions, SpawnedMember};
use swarm_testkit::{Answer, PaneCall, World, team};

use crate::stage::{Stage, before, entry, options, orders, why};

#[tokio::test]
async fn s3_spawn_returns_after_the_hello() {
    let world = World::new();
    let stage = Stage::says_hello(&world, |_| {});
    let spawned = stage.spawn(&world, options(&world)).await.unwrap();
    let (order, mode) = stage.order();
    assert_eq!(spawned.spawn_id, order.spec.identity.spawn_id);
    assert_eq!(spawned.pane, PaneId::new("%1"));
    assert_eq!(spawned.hello.session_id, order.spec.identity.session_id);
    let entry = entry(&world).unwrap();
    assert_eq!(entry.spawn_id(), Some(order.spec.identity.spawn_id));
    assert_eq!(entry.swarm.as_ref().unwrap().reservation, None);
    assert_eq!(
        (&entry.tmux_pane_id, &entry.backend_type),
        (&spawned.pane, &Some(BackendType::Tmux))
    );
    assert_eq!(entry.session(), Some(order.spec.identity.session_id));
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
    options
        .member
        .env
        .insert("FOO".to_owned(), "a b;$x".to_owned());
    options
        .member
        .env
        .insert("SWARM_NAME".to_owned(), "team-lead".to_owned());
    stage.spawn(&world, options).await.unwrap();
    let (order, _) = stage.order();
    assert_eq!(
        order.spec.runtime.provider["ANTHROPIC_API_KEY"],
        "key-secret"
    );
    assert_eq!(order.spec.workspace.env["FOO"], "a b;$x");
    assert_eq!(order.spec.workspace.env["SWARM_NAME"], "bob");
    assert_eq!(
        order.spec.workspace.env["SWARM_SPAWN_ID"],
        order.spec.identity.spawn_id.to_string()
    );
    assert!(!order.spec.workspace.env.contains_key("ANTHROPIC_API_KEY"));
    assert_eq!(
        (
            order.spec.runtime.model.as_str(),
            order.spec.permissions.mode
        ),
        ("fake/fake-1", PermissionMode::Default)
    );
    assert_eq!(
        order.spec.permissions.rules,
        world.spawn_context.permissions.rules
    );
    let calls = stage.backend.calls();
    let [PaneCall::Open { .. }, PaneCall::Start { command, .. }] = &calls[..] else {
        panic!("{calls:?}");
    };
    assert!(!format!("{command:?}").contains("secret"));
    let mark = (
        "SWARM_SPAWN_ID".to_owned(),
        order.spec.identity.spawn_id.to_string(),
    );
    assert!(command.env.contains(&mark));
    assert_eq!(command.cwd, world.path());
}

#[tokio::test]
async fn order_contains_the_sandbox_that_works_here() {
    let mut world = World::new();
    world.spawn_context.find_sandbox = Arc::new(|| Some(SandboxKind::Landlock));
    let stage = Stage::says_hello(&world, |_| {});
    stage.spawn(&world, options(&world)).await.unwrap();
    let (order, _) = stage.order();
    let shell = &order.spec.definition.config.shell;
    assert_eq!(shell.backend, Some(SandboxKind::Landlock));
}

async fn spawn(world: &World, options: SpawnOptions) -> Result<SpawnedMember, LeadError> {
    world.spawn_context.team(&team()).spawn(options).await
}

#[tokio::test]
async fn invalid_spawn_is_rejected_before_any_change() {
    let mut world = World::new();
    let was = before(&world);
    let mut high = options(&world);
    high.member.mode = Some(PermissionMode::BypassPermissions);
    let error = spawn(&world, high).await.unwrap_err();
    let above = matches!(why(&error), Some(SpawnError::AboveCeiling { .. }));
    assert!(above, "{error}");
    assert_eq!(error.kind(), ErrorKind::Refused);
    let mut other = options(&world);
    other.member.model = Some("fake/forbidden".to_owned());
    let resolve = Arc::clone(&world.spawn_context.resolve_model);
    world.spawn_context.resolve_model = Arc::new(|_| Err("not on this machine".to_owned()));
    let error = spawn(&world, other).await.unwrap_err();
    assert!(
        matches!(why(&error), Some(SpawnError::Model { .. })),
        "{error}"
    );
    assert_eq!(error.kind(), ErrorKind::Refused);
    world.spawn_context.resolve_model = resolve;
    let mut nowhere = options(&world);
    nowhere.cwd = world.path().join("nowhere");
    let error = spawn(&world, nowhere).await.unwrap_err();
    assert!(error.to_string().contains("nowhere"), "{error}");
    assert_eq!(error.kind(), ErrorKind::Usage);
    world.spawn_context.program = world.path().join("no-program");
    let error = spawn(&world, options(&world)).await.unwrap_err();
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
    options.member.mode = Some(PermissionMode::Plan);
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
    let actor = &world.spawn_context.workspace.cwd;
    let anchors = stage.order().0.spec.permissions.anchors;
    assert_eq!(anchors.above, std::slice::from_ref(actor));
    assert_eq!(anchors.grants.as_ref(), Some(actor));
}

#[tokio::test]
async fn s13_name_of_a_running_member_is_taken() {
    let (world, spawn) = World::with_member("bob");
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
        let (world, spawn) = World::with_member("bob");
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
async fn replaced_member_is_stopped_first_and_its_conversation_continued() {
    let (world, spawn) = World::with_member("bob");
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
