//! How runs end: with the lead's failure, an interrupt, a time limit, or the loss of the team.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use swarm_agent::EventSink;
use swarm_model::ModelError;
use swarm_protocol::{AgentEvent, ErrorKind, MemberState};
use swarm_store::StoreError;
use swarm_supervisor::LeadError;
use swarm_testkit::{Child, Reply, call, commit, hold_life, name, reserve, say, team, until};

use super::headless::{Run, bob_joins};
use crate::{Beginning, Outcome, run_lead};

#[tokio::test]
async fn a_lead_that_fails_ends_its_members() {
    let run = Run::with_team();
    let world = run.world.clone();
    run.model.on(move |_| {
        bob_joins(&world);
        Reply::Fail(ModelError::Auth {
            provider: swarm_model::Provider::Anthropic,
            message: "bad key".to_owned(),
        })
    });
    let world = run.world.clone();
    let report = run.go().await.unwrap();
    let Outcome::LeadFailed(why) = &report.outcome else {
        panic!("{report:?}");
    };
    assert!(why.contains("bad key"), "{why}");
    assert!(!world.has("bob"));
    let views = world.crew().member_view().await.unwrap();
    let lead = &views[0];
    assert_eq!(lead.state, MemberState::Failed, "{lead:?}");
    let last = lead.report.as_ref().and_then(|last| last.detail.clone());
    assert_eq!(last.as_ref(), Some(why));
}

#[tokio::test]
async fn a_lead_whose_conversation_has_no_room_left_is_exhausted() {
    let run = Run::with_team();
    for _ in 0..8 {
        run.model.then(Reply::Fail(ModelError::ContextTooLong(
            "prompt is too long".to_owned(),
        )));
    }
    let world = run.world.clone();
    let report = run.go().await.unwrap();
    assert!(
        matches!(report.outcome, Outcome::LeadFailed(_)),
        "{report:?}"
    );
    let views = world.crew().member_view().await.unwrap();
    assert_eq!(views[0].state, MemberState::Exhausted, "{:?}", views[0]);
}

#[tokio::test]
async fn a_run_that_breaks_down_leaves_no_member_behind_and_keeps_the_team() {
    let mut run = Run::on_files().with_new_team();
    run.parts.remove_team = true;
    let world = run.world.clone();
    let (tell, told) = std::sync::mpsc::channel();
    run.model.on(move |_| {
        let spawn = reserve(&world.store, &world.path(), "bob", None);
        commit(&world.store, spawn);
        tell.send(Child::start(&world.spawn_context.root, "bob", spawn))
            .unwrap();
        // An unreadable task list stops the run.
        let tasks = world.path().join("root/tasks/crew");
        std::fs::remove_dir_all(&tasks).unwrap();
        swarm_os::replace_alone(&tasks, b"no directory").unwrap();
        say("bob works")
    });
    let world = run.world.clone();
    let error = run.go().await.unwrap_err();
    assert!(matches!(error, LeadError::Store(_)), "{error}");
    let mut child: Child = told.recv().unwrap();
    until("the end of the process", || child.has_ended().then_some(())).await;
    assert_eq!(world.store.teams().await.unwrap(), [team()]);
}

/// Replaces the transcript by a directory when the lead is told that a member could not be
/// respawned.
#[derive(Debug)]
struct BreaksTranscript(std::path::PathBuf);

impl EventSink for BreaksTranscript {
    fn emit(&self, event: AgentEvent) {
        if matches!(event, AgentEvent::Notice { .. }) && !self.0.is_dir() {
            drop(std::fs::remove_file(&self.0));
            std::fs::create_dir(&self.0).unwrap();
        }
    }
}

#[tokio::test]
async fn a_resumed_run_that_fails_before_its_first_turn_ends_its_members() {
    let mut run = Run::on_files();
    let world = run.world.clone();
    world.create_team();
    let ann = reserve(&world.store, &world.path(), "ann", None);
    commit(&world.store, ann);
    drop(hold_life(&world.store, &team(), "ann", ann));
    swarm_team::reconcile(&world.crew()).unwrap();
    let bob = reserve(&world.store, &world.path(), "bob", None);
    commit(&world.store, bob);
    let mut child = Child::start(&world.spawn_context.root, "bob", bob);
    run.parts.team = Some(team());
    run.parts.beginning = Beginning::Respawn;
    // Members cannot be respawned with a missing program.
    run.parts.spawn_context.program = world.path().join("missing");
    let (root, cwd) = (
        &world.spawn_context.root,
        &world.spawn_context.workspace.cwd,
    );
    let transcript = swarm_agent::transcript_path(root, cwd, run.parts.session);
    run.parts.events = Arc::new(BreaksTranscript(transcript));
    let error = run.go().await.unwrap_err();
    assert!(matches!(error, LeadError::Engine(_)), "{error}");
    until("the end of the process", || child.has_ended().then_some(())).await;
    assert!(world.crew().config().await.unwrap().lead_process.is_none());
}

#[tokio::test]
async fn the_time_is_up_even_in_the_middle_of_a_turn() {
    let mut run = Run::with_team();
    run.parts.timeout = Some(Duration::from_millis(50));
    run.model.then(Reply::Hang);
    let report = run.go().await.unwrap();
    assert_eq!(report.outcome, Outcome::TimedOut);
    assert_eq!(report.error_kind(), Some(ErrorKind::TimedOut));
}

#[tokio::test]
async fn an_interrupt_stops_the_run_gracefully() {
    let run = Run::with_team();
    let (stop, world) = (run.parts.stops.stop.clone(), run.world.clone());
    run.model.on(move |_| {
        bob_joins(&world);
        stop.cancel();
        Reply::Hang
    });
    let world = run.world.clone();
    let report = run.go().await.unwrap();
    assert_eq!(report.outcome, Outcome::Interrupted);
    assert_eq!(world.stops(), ["approved"]);
}

#[tokio::test]
async fn a_second_interrupt_stops_the_run_immediately() {
    let mut run = Run::on_files().with_new_team();
    run.parts.spawn_context.limits.shutdown_grace_ms = 3_600_000;
    let (stop, kill) = (run.parts.stops.stop.clone(), run.parts.stops.kill.clone());
    let world = run.world.clone();
    let (tell, told) = std::sync::mpsc::channel();
    run.model.on(move |_| {
        let spawn = world.join("bob");
        tell.send(Child::stubborn(&world.spawn_context.root, "bob", spawn))
            .unwrap();
        stop.cancel();
        kill.cancel();
        Reply::Hang
    });
    let world = run.world.clone();
    let report = run.go().await.unwrap();
    assert_eq!(report.outcome, Outcome::Interrupted);
    assert_eq!(world.stops(), ["killed"]);
    let mut child: Child = told.recv().unwrap();
    until("the end of the process", || child.has_ended().then_some(())).await;
}

#[tokio::test]
async fn a_team_is_removed_at_the_end_when_that_was_asked_for() {
    let mut run = Run::with_team();
    run.parts.remove_team = true;
    run.model.then(say("done"));
    let world = run.world.clone();
    let report = run.go().await.unwrap();
    assert_eq!(report.team, Some(team()));
    assert_eq!(world.store.teams().await.unwrap(), []);
}

#[tokio::test]
async fn the_team_outlives_its_lead_and_names_no_leader_then() {
    let run = Run::with_team();
    run.model.then(say("done"));
    let world = run.world.clone();
    run.go().await.unwrap();
    let config = world.crew().config().await.unwrap();
    assert_eq!(config.lead_process, None);
    let again = Run::with_team();
    again.model.then(say("done"));
    drop(hold_life(
        &world.store,
        &team(),
        "team-lead",
        world.spawn_context.spawn_id,
    ));
    let mut parts = again.parts;
    parts.spawn_context = world.spawn_context.clone();
    let error = run_lead(parts, Some("again".to_owned())).await.unwrap_err();
    assert!(
        matches!(error, LeadError::Store(StoreError::TeamExists { .. })),
        "{error}"
    );
}

#[tokio::test]
async fn a_lead_that_loses_its_lease_stops_its_call_and_leaves_its_members() {
    let run = Run::with_team();
    let world = Arc::clone(&run.world);
    let child = world.clone();
    let file = world.path().join("started");
    let command = format!("touch {}; sleep 600", file.display());
    run.model.on(move |_| {
        child.join("bob");
        std::thread::spawn(move || {
            swarm_testkit::wait_for("the call to run", || file.exists().then_some(()));
            let memory = child.memory.as_ref().unwrap();
            memory.lose_lease(&team(), &name("team-lead"));
        });
        call("Bash", json!({"command": command}))
    });
    let model = Arc::clone(&run.model);
    let error = run.go().await.unwrap_err();
    assert!(
        matches!(error, LeadError::Store(StoreError::LeaseLost { .. })),
        "{error}"
    );
    assert_eq!(error.kind(), ErrorKind::Environment);
    assert_eq!(model.asked(), 1);
    let config = world.crew().config().await.unwrap();
    assert!(config.member(&name("bob")).is_some(), "no one stopped it");
    assert!(config.lead_process.is_some(), "so members see it as lost");
}

#[tokio::test]
async fn a_run_whose_terminal_closes_or_whose_time_is_up_leaves_its_members_to_another_lead() {
    for is_hangup in [true, false] {
        let mut run = Run::with_team();
        let (stop, hangup) = (run.parts.stops.stop.clone(), run.parts.stops.hangup.clone());
        if !is_hangup {
            run.parts.timeout = Some(Duration::from_millis(50));
        }
        let world = run.world.clone();
        let (tell, told) = std::sync::mpsc::channel();
        run.model.on(move |_| {
            let spawn = world.join("bob");
            tell.send(world.live("bob", spawn)).unwrap();
            world.report("bob", spawn, MemberState::Working);
            if is_hangup {
                hangup.cancel();
                stop.cancel();
            }
            Reply::Hang
        });
        let world = run.world.clone();
        let session = world.spawn_context.process.clone();
        let report = run.go().await.unwrap();
        let expected = if is_hangup {
            Outcome::Interrupted
        } else {
            Outcome::TimedOut
        };
        assert_eq!(report.outcome, expected);
        let _life = told.recv().unwrap();
        let config = world.crew().config().await.unwrap();
        let bob = config.member(&name("bob")).unwrap();
        assert!(bob.session_id.is_some() && world.stops().is_empty());
        // The lock is released with the lead: this makes members park.
        assert_eq!(config.lead_process.unwrap().pid, session.pid);
        assert_eq!(
            world.crew().liveness(&name("team-lead")).await.unwrap(),
            swarm_os::Liveness::Dead
        );
        let asked = |event: &swarm_protocol::Event| {
            matches!(event, swarm_protocol::Event::ShutdownRequested { .. })
        };
        assert!(!world.journal().iter().any(asked));
    }
}
