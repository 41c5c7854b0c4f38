//! Asynchronous calls never block their thread on a lock, and a started call completes.

use std::fs;
use std::future::Future;
use std::path::PathBuf;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use swarm_protocol::{PauseMark, PermissionMode, TaskStatus, UnixMs};
use swarm_store::{BlockOn as _, Draft, StoreError, TaskChange, TeamStore};
use tokio::runtime::{Builder, Runtime};

use crate::world::{World, id, name, new_member};

/// Far below the lock timeout of the store in these tests, one minute.
const NO_WAIT: Duration = Duration::from_secs(5);

type Call<'a> = Pin<Box<dyn Future<Output = bool> + Send + 'a>>;

fn runtime() -> Runtime {
    Builder::new_current_thread().build().unwrap()
}

/// Lock directories of another program.
struct Foreign(Vec<PathBuf>);

impl Foreign {
    fn on(files: impl IntoIterator<Item = PathBuf>) -> Self {
        let locks = files.into_iter().map(|file| {
            let mut lock = file.into_os_string();
            lock.push(".lock");
            PathBuf::from(lock)
        });
        let locks: Vec<PathBuf> = locks.collect();
        for lock in &locks {
            fs::create_dir(lock).unwrap();
        }
        Self(locks)
    }
}

impl Drop for Foreign {
    fn drop(&mut self) {
        for lock in &self.0 {
            fs::remove_dir(lock).unwrap();
        }
    }
}

/// Polls a call once. Returns whether it is pending.
fn is_pending<F: Future + ?Sized>(call: &mut Pin<Box<F>>) -> bool {
    let mut context = Context::from_waker(Waker::noop());
    matches!(call.as_mut().poll(&mut context), Poll::Pending)
}

/// All locks of the team that another program can take.
fn all_files(world: &World) -> Vec<PathBuf> {
    let team = world.handle();
    vec![
        team.team_directory().join("config.json"),
        world.inbox_path("bob"),
        world.inbox_path("team-lead"),
        world.task_path(1),
    ]
}

fn wait_for(what: &str, is_so: impl Fn() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < Duration::from_mins(1), "{what}");
        std::thread::yield_now();
    }
}

#[test]
fn no_operation_waits_for_a_lock_on_the_callers_thread() {
    let world = World::with_member("bob");
    world.create("a task", &[]);
    let spawn = world
        .handle()
        .config()
        .block_on()
        .unwrap()
        .member(&name("bob"))
        .unwrap()
        .spawn_id()
        .unwrap();
    let runtime = runtime();
    let _entered = runtime.enter();
    let foreign = Foreign::on(all_files(&world));
    let team = world.handle();
    let (team, bob, actor) = (&team, name("bob"), world.person());
    let (bob, actor) = (&bob, &actor);
    let mark = PauseMark {
        spawn_id: spawn,
        by: "a test".to_owned(),
        at: UnixMs(1),
        reason: None,
    };
    let change = TaskChange {
        status: Some(TaskStatus::InProgress),
        ..TaskChange::default()
    };
    let gone = swarm_protocol::SpawnId::random();
    let calls: Vec<(&str, Call<'_>)> = vec![
        (
            "post",
            Box::pin(async { team.post(bob, Draft::person("hello")).await.is_ok() }),
        ),
        (
            "inbox_at_rest",
            Box::pin(async { team.inbox_at_rest(bob).await.is_ok() }),
        ),
        (
            "set_active",
            Box::pin(async { team.set_active(bob, false).await.is_ok() }),
        ),
        (
            "set_mode",
            Box::pin(async { team.set_mode(bob, PermissionMode::Plan).await.is_ok() }),
        ),
        (
            "set_paused",
            Box::pin(async { team.set_paused(bob, Some(&mark)).await.is_ok() }),
        ),
        (
            "set_lead_session",
            Box::pin(async { team.set_lead_session("s", "m").await.is_ok() }),
        ),
        (
            "add_allowed_path",
            Box::pin(async { team.add_allowed_path("/p", "Edit").await.is_ok() }),
        ),
        (
            "update_task",
            Box::pin(async { team.update_task(&id(1), change, actor).await.is_ok() }),
        ),
        (
            "post_all",
            Box::pin(async {
                let letters = [(bob.clone(), Draft::person("to all"))];
                team.post_all(&letters)
                    .await
                    .is_ok_and(|sent| sent[0].is_ok())
            }),
        ),
        (
            "reserve",
            Box::pin(async { team.reserve(new_member("eve")).await.is_ok() }),
        ),
        (
            "abort_spawn",
            Box::pin(async { team.abort_spawn(&gone, "test").await.is_ok() }),
        ),
        (
            "remove_member",
            Box::pin(async { team.remove_member(&name("nobody"), None).await.is_ok() }),
        ),
    ];
    let mut waiting = Vec::new();
    for (operation, mut call) in calls {
        let began = Instant::now();
        assert!(is_pending(&mut call), "{operation}: the lock is held");
        assert!(
            began.elapsed() < NO_WAIT,
            "{operation}: it waited on the caller's thread"
        );
        waiting.push((operation, call));
    }
    drop(foreign);
    for (operation, call) in waiting {
        assert!(
            runtime.block_on(call),
            "{operation}: it is done once the lock is free"
        );
    }
}

#[test]
fn a_call_with_a_dropped_future_is_completed_once() {
    let world = World::with_member("bob");
    let runtime = runtime();
    let _entered = runtime.enter();
    let team = world.handle();
    let foreign = Foreign::on([world.inbox_path("bob")]);
    let bob = name("bob");
    let mut call = team.send(&bob, Draft::person("hello"));
    assert!(is_pending(&mut call));
    drop(call);
    assert!(
        world
            .handle()
            .inbox(&bob)
            .block_on()
            .unwrap()
            .entries
            .is_empty()
    );
    drop(foreign);
    wait_for("the message arrives", || {
        !world
            .handle()
            .inbox(&bob)
            .block_on()
            .unwrap()
            .entries
            .is_empty()
    });
    drop(runtime);
    assert_eq!(world.unread("bob").len(), 1);
}

#[test]
fn a_call_without_contention_is_done_at_the_first_poll() {
    let world = World::with_member("bob");
    let runtime = runtime();
    let _entered = runtime.enter();
    let team = world.handle();
    let bob = name("bob");
    let mut call = team.send(&bob, Draft::person("hello"));
    assert!(!is_pending(&mut call));
    assert_eq!(world.unread("bob").len(), 1);
}

#[test]
fn an_update_of_a_locked_task_changes_nothing_before_it_is_repeated() {
    let world = World::with_member("bob");
    world.create("one", &[]);
    world.create("two", &[1]);
    let before = world.files();
    let runtime = runtime();
    let _entered = runtime.enter();
    let store = world.store.clone();
    // The list is free but the second file is locked: an update of both gets only half of its
    // locks.
    let foreign = Foreign::on([world.task_path(2)]);
    let hurried = store
        .team(&world.team)
        .with_lock_timeout(Duration::from_millis(50));
    let change = TaskChange {
        add_blocked_by: vec![world.create("three", &[])],
        ..TaskChange::default()
    };
    let later = world.files();
    assert_ne!(before, later);
    let actor = world.person();
    let two = id(2);
    let refused = runtime.block_on(hurried.update_task(&two, change, &actor));
    assert!(
        matches!(
            refused,
            Err(StoreError::Fs(swarm_os::OsError::LockTimeout { .. }))
        ),
        "{refused:?}"
    );
    assert_eq!(world.files(), later);
    drop(foreign);
    let task = world.handle().tasks().block_on().unwrap();
    assert_eq!(task.tasks.len(), 3);
}
