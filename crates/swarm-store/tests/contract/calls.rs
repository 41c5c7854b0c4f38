//! Calls that have to wait: they never block their caller, change nothing when they give up, and
//! complete once begun.

use std::any::Any;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use swarm_os::LockInterrupt;
use swarm_protocol::{
    Answer, AnsweredBy, ErrorKind, PauseMark, PermissionMode, SpawnId, TaskStatus, UnixMs,
};
use swarm_store::{Actor, BlockOn as _, Draft, StoreError, Team};
use tokio::runtime::{Builder, Runtime};

use crate::requests::request;
use crate::values::{id, name, new_member, new_task};
use crate::world::{World, status};

/// Far below the deadline of the stores in these tests.
const NO_WAIT: Duration = Duration::from_secs(5);

type Call<'a> = Pin<Box<dyn Future<Output = Result<(), StoreError>> + Send + 'a>>;

fn runtime() -> Runtime {
    Builder::new_current_thread().build().unwrap()
}

/// Polls a call once. Returns whether it is pending.
fn is_pending<F: Future + ?Sized>(call: &mut Pin<Box<F>>) -> bool {
    let mut context = Context::from_waker(Waker::noop());
    matches!(call.as_mut().poll(&mut context), Poll::Pending)
}

/// What the calls below need.
struct Scene {
    spawn: SpawnId,
    person: Actor,
}

impl Scene {
    fn of(world: &World) -> Self {
        let spawn = world.join("bob");
        world.send("bob", "already there");
        world.create("a task", &[]);
        Self {
            spawn,
            person: world.person(),
        }
    }

    /// One call of each kind of change, all of which succeed when nobody is in the way.
    fn calls<'a>(&'a self, team: &'a dyn Team) -> Vec<(&'static str, Call<'a>)> {
        let by = &self.person;
        vec![
            (
                "post",
                Box::pin(async move {
                    team.post(&name("bob"), Draft::person("hello"))
                        .await
                        .map(drop)
                }),
            ),
            (
                "set_active",
                Box::pin(async move { team.set_active(&name("bob"), false).await }),
            ),
            (
                "set_mode",
                Box::pin(async move { team.set_mode(&name("bob"), PermissionMode::Plan).await }),
            ),
            (
                "set_lead_session",
                Box::pin(async move { team.set_lead_session("s", "m").await }),
            ),
            (
                "add_allowed_path",
                Box::pin(async move { team.add_allowed_path("/p", "Edit").await }),
            ),
            (
                "remove_allowed_path",
                Box::pin(async move { team.remove_allowed_path("/p", "Edit").await }),
            ),
            (
                "create_tasks",
                Box::pin(async move {
                    let new = [new_task("b", &[1]), new_task("c", &[])];
                    team.create_tasks(&new, by).await.map(drop)
                }),
            ),
            (
                "update_task",
                Box::pin(async move {
                    let change = status(TaskStatus::InProgress);
                    team.update_task(&id(1), change, by).await.map(drop)
                }),
            ),
            (
                "open_request",
                Box::pin(async move {
                    team.open_request(request("perm-1-a", 1), None)
                        .await
                        .map(drop)
                }),
            ),
            (
                "reserve",
                Box::pin(async move {
                    let mut new = new_member("eve");
                    new.prompt = Some(Draft::person("begin"));
                    team.reserve(new).await.map(drop)
                }),
            ),
        ]
    }
}

pub(crate) fn no_change_waits_on_the_callers_thread(world: &World) {
    let scene = Scene::of(world);
    let runtime = runtime();
    let _entered = runtime.enter();
    let team = world.handle();
    let held = world.hold();
    let mut waiting = Vec::new();
    for (operation, mut call) in scene.calls(&*team) {
        let began = Instant::now();
        assert!(is_pending(&mut call), "{operation}");
        assert!(began.elapsed() < NO_WAIT, "{operation}: it waited");
        waiting.push((operation, call));
    }
    drop(held);
    for (operation, call) in waiting {
        let done = runtime.block_on(call);
        assert!(done.is_ok(), "{operation}: {done:?}");
    }
}

/// Every call fails in time and has changed nothing.
fn assert_all_give_up(world: &World, scene: &Scene, team: &dyn Team, held: Box<dyn Any>) {
    let before = world.content();
    for (operation, call) in scene.calls(team) {
        let error = runtime().block_on(call).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TimedOut, "{operation}: {error}");
        assert!(error.hint().is_some(), "{operation}: {error}");
    }
    drop(held);
    assert_eq!(world.content(), before);
}

pub(crate) fn past_its_deadline_a_call_has_changed_nothing(world: &World) {
    let scene = Scene::of(world);
    let hurried = world.handle().with_lock_timeout(Duration::from_millis(20));
    assert_all_give_up(world, &scene, &*hurried, world.hold());
}

pub(crate) fn an_interrupted_call_has_changed_nothing(world: &World) {
    let scene = Scene::of(world);
    let interrupt = LockInterrupt::default();
    let team = world
        .store
        .with_lock_interrupt(&interrupt)
        .team(&world.team);
    interrupt.interrupt();
    assert_all_give_up(world, &scene, &*team, world.hold());
}

pub(crate) fn a_call_with_a_dropped_future_is_completed_once(world: &World) {
    Scene::of(world);
    let runtime = runtime();
    let _entered = runtime.enter();
    let team = world.handle();
    let held = world.hold();
    let bob = name("bob");
    let mut call = team.send(&bob, Draft::person("hello"));
    assert!(is_pending(&mut call));
    drop(call);
    drop(held);
    let began = Instant::now();
    while world.unread("bob").len() < 2 {
        assert!(began.elapsed() < Duration::from_mins(1), "it never arrives");
        std::thread::yield_now();
    }
    drop(runtime);
    assert_eq!(world.unread("bob").len(), 2);
}

pub(crate) fn a_mark_of_a_pause_and_an_answer_wait_like_any_change(world: &World) {
    let scene = Scene::of(world);
    let open = |id: &str| world.handle().open_request(request(id, 1), None).block_on();
    let asked = open("perm-1-b").unwrap();
    let mark = PauseMark {
        spawn_id: scene.spawn,
        by: "a test".to_owned(),
        at: UnixMs(1),
        reason: None,
    };
    let runtime = runtime();
    let _entered = runtime.enter();
    let team = world.handle();
    let held = world.hold();
    let bob = name("bob");
    let mut pause = team.set_paused(&bob, Some(&mark));
    let by = AnsweredBy::default();
    let mut answer = team.answer_request(&asked.id, None, Answer::once(), by);
    assert!(is_pending(&mut pause) && is_pending(&mut answer));
    drop(held);
    runtime.block_on(pause).unwrap();
    runtime.block_on(answer).unwrap();
}
