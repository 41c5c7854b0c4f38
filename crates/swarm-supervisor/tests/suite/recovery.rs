//! Detection of orphaned processes and dead teams, and their cleanup.

use std::process::{Child, Command, Stdio};

use swarm_protocol::{MemberState, NewTask, SessionId, SpawnId, Task, TaskId, TeamName, UnixMs};
use swarm_store::{Actor, BlockOn as _, NewTeam, StoppedSpawn, process};
use tokio_util::sync::CancellationToken;

use swarm_supervisor::lead_mark;
use swarm_supervisor::{
    LeadError, Orphan, ProcessStatus, SeenProcess, Verdict, handover, implicit_team_name,
    process_list, reap, verdict,
};
use swarm_testkit::{World, name, team, wait_for};

/// Starts a process with the marks of a member in its environment.
fn marked(world: &World, member: &str, spawn: SpawnId, more: &[(String, String)]) -> Child {
    let child = Command::new("sleep")
        .arg("600")
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .env("CLAUDE_CONFIG_DIR", &world.spawn_context.root)
        .env("SWARM_TEAM", team().as_str())
        .env("SWARM_NAME", member)
        .env("SWARM_SPAWN_ID", spawn.to_string())
        .envs(more.iter().cloned())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    // Until exec, it shows the environment of the test process.
    see(world, child.id());
    child
}

fn look(world: &World) -> Vec<SeenProcess> {
    process_list(&*world.store, &world.spawn_context.root).unwrap()
}

fn see(world: &World, pid: u32) -> SeenProcess {
    wait_for("the process is seen", || {
        let mut seen = look(world).into_iter();
        seen.find(|one| u32::try_from(one.pid) == Ok(pid) && one.command == "sleep 600")
    })
}

fn end(mut child: Child) {
    child.kill().unwrap();
    child.wait().unwrap();
}

/// Records an exited process as the lead.
fn lose_the_lead(world: &World) {
    let mut lead = process::as_lead(UnixMs(1));
    "1".clone_into(&mut lead.proc_start);
    world
        .store
        .team(&team())
        .set_lead_process(Some(lead))
        .block_on()
        .unwrap();
}

#[test]
fn a_census_changes_nothing() {
    let (world, spawn) = World::with_member("bob");
    world.report("bob", spawn, MemberState::Working);
    world.task_of("bob", spawn);
    drop(world.live("bob", spawn));
    let left = marked(&world, "bob", spawn, &[]);
    let before = (
        world.journal(),
        world.store.team(&team()).config().block_on().unwrap(),
    );

    // The death is detected even though it is not recorded.
    let standing = see(&world, left.id()).standing;
    assert_eq!(standing, ProcessStatus::Orphan(Orphan::MemberDead));
    assert_eq!(
        before,
        (
            world.journal(),
            world.store.team(&team()).config().block_on().unwrap()
        )
    );
    assert_eq!(world.unread("team-lead"), 0);
    end(left);
}

#[tokio::test]
async fn processes_of_an_aborted_spawn_are_removed_with_the_team() {
    let world = World::new();
    let undone = world.reserve("bob", None);
    world
        .store
        .team(&team())
        .abort_spawn(&undone, "its time was over")
        .block_on()
        .unwrap();
    let mut late = marked(&world, "bob", undone, &[]);
    let mut of_others = marked(&world, "bob", SpawnId::random(), &[]);
    let cleared = world.spawn_context.team(&team()).clear_dead().await;
    assert_eq!(cleared.unwrap().len(), 0);
    let lives = [&mut late, &mut of_others].map(|child| child.try_wait().unwrap().is_none());
    end(late);
    end(of_others);
    assert_eq!(lives, [false, true]);
}

#[test]
fn child_processes_of_a_lead_without_team_follow_the_lead_process() {
    let world = World::new();
    let spawn = SpawnId::random();
    let own = &world.spawn_context.process;
    let lives = marked(
        &world,
        "team-lead",
        spawn,
        &[lead_mark(own.pid, &own.start)],
    );
    let reused = marked(&world, "team-lead", spawn, &[lead_mark(own.pid, "1")]);
    let silent = marked(&world, "team-lead", spawn, &[]);
    assert_eq!(see(&world, lives.id()).standing, ProcessStatus::Unknown);
    let gone = ProcessStatus::Orphan(Orphan::LeadGone);
    assert_eq!(see(&world, reused.id()).standing, gone);
    assert_eq!(see(&world, silent.id()).standing, ProcessStatus::Unknown);
    for child in [lives, reused, silent] {
        end(child);
    }
}

#[tokio::test]
async fn members_of_a_lost_lead_are_stopped_only_while_it_is_lost() {
    let world = World::new();
    lose_the_lead(&world);
    let earlier = world.join("bob");
    let life = world.live("bob", earlier);
    let child = marked(&world, "bob", earlier, &[]);
    let mut seen = look(&world);
    seen.retain(|one| u32::try_from(one.pid) == Ok(child.id()));

    // Taken over by a person after the process list was read.
    world
        .store
        .team(&team())
        .set_lead_process(None)
        .block_on()
        .unwrap();
    let reaped = reap(&world.spawn_context, &seen, true).await;
    assert!(
        matches!(reaped[0].error, Some(LeadError::TakenOver { .. })),
        "{reaped:?}"
    );
    see(&world, child.id());

    // Lost again, and the name was reused by another spawn after the process list was read.
    lose_the_lead(&world);
    drop(life);
    world
        .store
        .team(&team())
        .remove_member(&name("bob"), Some(&StoppedSpawn::new(earlier, "killed")))
        .block_on()
        .unwrap();
    let later = world.join("bob");
    let life = world.live("bob", later);
    let waiter = std::thread::spawn(move || {
        let mut child = child;
        child.wait().unwrap()
    });
    let reaped = reap(&world.spawn_context, &seen, true).await;
    assert!(reaped[0].error.is_none(), "{reaped:?}");
    assert!(!waiter.join().unwrap().success());
    let bob = world.store.team(&team()).config().block_on().unwrap();
    let bob = bob.member(&name("bob")).unwrap();
    assert_eq!(bob.spawn_id(), Some(later));
    drop(life);
}

#[test]
fn team_of_another_program_is_kept() {
    let world = World::new();
    lose_the_lead(&world);
    let judge = || {
        let config = world.store.team(&team()).config().block_on().unwrap();
        verdict(&*world.store, &config, &[], true, UnixMs(0)).unwrap()
    };
    assert_eq!(judge(), Verdict::InUse);
    drop(world.live("team-lead", SpawnId::random()));
    assert!(matches!(judge(), Verdict::Dead(_)));
}

#[test]
fn an_empty_team_that_a_session_left_behind_is_dead_after_thirty_days() {
    let world = World::new();
    let session = SessionId::random();
    let implicit = implicit_team_name(session).unwrap();
    let create = |name: &TeamName| {
        let new = NewTeam {
            lead_session_id: Some(session.to_string()),
            ..NewTeam::new(
                name.clone(),
                &world.spawn_context.workspace.cwd,
                "team-lead",
            )
        };
        world.store.create_team(new).block_on().unwrap();
    };
    let named = TeamName::parse("parser").unwrap();
    create(&implicit);
    create(&named);
    let judge = |name: &TeamName, days: u64| {
        let config = world.store.team(name).config().block_on().unwrap();
        let day = 24 * 60 * 60 * 1000;
        let now = UnixMs(world.spawn_context.clock.now().0 + days * day);
        verdict(&*world.store, &config, &[], false, now).unwrap()
    };
    assert_eq!(judge(&implicit, 29), Verdict::InUse);
    assert!(matches!(judge(&implicit, 31), Verdict::Dead(_)));
    assert_eq!(judge(&named, 31), Verdict::InUse, "a person named it");
    let team = world.store.team(&implicit);
    let by = Actor::person(&implicit);
    team.create_tasks(&[NewTask::default()], &by)
        .block_on()
        .unwrap();
    assert_eq!(judge(&implicit, 62), Verdict::InUse, "it has a task");
}

#[tokio::test]
async fn restarted_member_gets_its_unclaimed_tasks() {
    let (world, spawn) = World::with_member("bob");
    let life = world.live("bob", spawn);
    let [free, taken] = [(); 2].map(|()| world.task_of("bob", spawn));
    drop(life);
    swarm_team::reconcile(&world.store.team(&team())).unwrap();
    let found = handover(&*world.store.team(&team())).unwrap();
    let had: Vec<TaskId> = found.dead[0].tasks.iter().map(|task| task.id).collect();
    assert_eq!(had, [free, taken]);

    // Ann is running and claims one of them between the read and the spawn.
    let ann = world.join("ann");
    let _life = world.live("ann", ann);
    let as_ann = Actor::member(&team(), name("ann"), Some(ann));
    world
        .store
        .team(&team())
        .claim(&taken, &as_ann)
        .block_on()
        .unwrap();

    let mut spawn_context = world.spawn_context.clone();
    spawn_context.program = "/bin/false".into();
    let (of, cancel) = (team(), CancellationToken::new());
    let failed = spawn_context.team(&of).bring_back(&found.dead[0], cancel);
    failed.await.unwrap_err();
    let task = |id: TaskId| -> Task { world.store.team(&team()).task(&id).block_on().unwrap() };
    assert_eq!(task(taken).owner.as_deref(), Some("ann"));
    assert_eq!(task(free).owner, None, "given back as the spawn failed");
}
