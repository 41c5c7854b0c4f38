//! Spawns that fail: they are rolled back, and the error has the cause.

use std::sync::Arc;
use std::time::Duration;

use swarm_protocol::{AnsweredBy, ErrorKind, Event, Grant, Hello, PaneId, PermissionMode, SpawnId};
use swarm_store::{BlockOn as _, Draft, StoreError, TeamStore};
use swarm_supervisor::{LeadError, SpawnError, SpawnOptions};
use swarm_testkit::{World, name, team, until};

use crate::stage::{Stage, aborted_spawns, assert_undone, before, entry, options, why};

#[tokio::test]
async fn s3_early_exit_fails_the_spawn_with_status_and_output() {
    let world = World::new();
    let stage = Stage::new();
    let backend = stage.backend.clone();
    stage.backend.on_start(move |pane, _| {
        backend.set_content(&pane.id, "cannot open\nthe pod bay doors\n");
        backend.finish(&pane.id, 7);
    });
    let error = stage.fails(&world, options(&world)).await;
    let said = error.to_string();
    assert!(
        matches!(why(&error), Some(SpawnError::EarlyExit { .. })),
        "{said}"
    );
    for words in ["bob was not spawned", "exit status 7", "the pod bay doors"] {
        assert!(said.contains(words), "{said}");
    }
    assert_eq!(error.kind(), ErrorKind::AgentFailed);
}

#[tokio::test]
async fn s3_child_that_exits_without_output_fails_the_spawn() {
    let world = World::new();
    let stage = Stage::new();
    let backend = stage.backend.clone();
    stage
        .backend
        .on_start(move |pane, _| backend.finish(&pane.id, 0));
    let error = stage.fails(&world, options(&world)).await;
    assert!(error.to_string().contains("its pane is gone"), "{error}");
}

#[tokio::test]
async fn an_invalid_rule_of_the_team_fails_the_spawn() {
    let world = World::new();
    let stage = Stage::says_hello(&world, |_| {});
    let rule = "Bash(oops".to_owned();
    let by = AnsweredBy::person(1, None);
    let by = world.crew().signed(&Grant::team_rule(&rule), by).await;
    let granted = Event::TeamRuleAdded {
        rule,
        by: by.unwrap(),
    };
    world.crew().journal(granted).await.unwrap();
    let error = stage.fails(&world, options(&world)).await;
    assert!(error.to_string().contains("Bash(oops"), "{error}");
    assert_eq!(error.kind(), ErrorKind::Damaged);
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
    let error = stage.fails(&world, options).await;
    assert!(
        matches!(why(&error), Some(SpawnError::NoHello { .. })),
        "{error}"
    );
    assert!(
        error.to_string().contains("Do you trust this directory?"),
        "{error}"
    );
    assert_eq!(error.kind(), ErrorKind::TimedOut);
}

#[tokio::test]
async fn hello_of_an_earlier_spawn_is_ignored() {
    let world = World::new();
    let stage = Stage::says_hello(&world, |hello| {
        hello.spawn_id = swarm_protocol::SpawnId::random();
    });
    let mut options = options(&world);
    options.timeout = Some(Duration::from_millis(50));
    let error = stage.fails(&world, options).await;
    assert!(
        matches!(why(&error), Some(SpawnError::NoHello { .. })),
        "{error}"
    );
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
        let error = stage.fails(&world, options(&world)).await;
        assert!(
            matches!(why(&error), Some(SpawnError::Mismatch { .. })),
            "{error}"
        );
        assert!(error.to_string().contains(what), "{error}");
    }
}

#[tokio::test]
async fn failed_backend_leaves_no_trace() {
    let world = World::new();
    let stage = Stage::new();
    stage.backend.refuse_start(Some("the pane is gone"));
    let error = stage.fails(&world, options(&world)).await;
    assert!(matches!(error, LeadError::Pane(_)), "{error}");
    let world = World::new();
    let stage = Stage::new();
    stage.backend.refuse_open(Some("no room"));
    stage.fails(&world, options(&world)).await;
}

#[tokio::test]
async fn cancelled_spawn_is_rolled_back() {
    let world = World::new();
    let stage = Stage::new();
    let options = options(&world);
    let cancel = options.cancel.clone();
    stage.backend.on_start(move |_, _| cancel.cancel());
    let error = stage.fails(&world, options).await;
    let why = why(&error);
    assert!(matches!(why, Some(SpawnError::Interrupted)), "{error}");
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
    let error = stage.fails(&world, options(&world)).await;
    assert!(
        matches!(error, LeadError::Store(StoreError::SpawnGone { .. })),
        "{error}"
    );
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
    assert!(
        matches!(why(&error), Some(SpawnError::EarlyExit { .. })),
        "{error}"
    );
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
async fn dead_member_keeps_its_entry_if_the_restart_fails() {
    for replace in [false, true] {
        let (world, spawn) = World::with_member("bob");
        drop(world.live("bob", spawn));
        swarm_team::reconcile(&world.store.team(&team())).unwrap();
        let stage = Stage::new();
        let backend = stage.backend.clone();
        stage
            .backend
            .on_start(move |pane, _| backend.finish(&pane.id, 1));
        let options = SpawnOptions {
            replace,
            ..options(&world)
        };
        stage.fails(&world, options).await;
        assert_eq!(entry(&world).unwrap().spawn_id(), Some(spawn));
    }
}
