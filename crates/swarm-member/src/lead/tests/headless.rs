//! Complete runs with simulated members.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use swarm_agent::EventSink;
use swarm_model::{Model, ModelError};
use swarm_permissions::RuleSet;
use swarm_protocol::{
    AgentEvent, AnsweredBy, ErrorKind, MemberState, PermissionMode, SessionId, TaskState,
};
use swarm_store::{BlockOn as _, StoreError};
use tokio_util::sync::CancellationToken;

use swarm_supervisor::LeadError;

use crate::{Beginning, LeadParts, Outcome, RunReport, run_lead};
use swarm_testkit::Child;
use swarm_testkit::{
    Answer, Events, World, commit, hold_life, idle_notice, name, report_state, reserve, team, until,
};
use swarm_testkit::{FakeModel, Reply, call, heard, say};

pub(super) struct Run {
    pub(super) world: Arc<World>,
    pub(super) model: Arc<FakeModel>,
    pub(super) parts: LeadParts,
}

impl Run {
    pub(super) fn new() -> Self {
        Self::of(World::without_team())
    }

    /// On files, for members that are processes.
    fn on_files() -> Self {
        Self::of(World::on_files_without_team())
    }

    fn of(mut world: World) -> Self {
        world.spawn_context.mode = PermissionMode::BypassPermissions;
        world.spawn_context.ceiling = PermissionMode::BypassPermissions;
        world.spawn_context.limits.shutdown_grace_ms = 20;
        let model = Arc::new(FakeModel::default());
        let asked: Arc<dyn Model> = model.clone();
        let parts = LeadParts {
            worktree: None,
            spawn_context: world.spawn_context.clone(),
            home: None,
            session: SessionId::random(),
            team: None,
            beginning: Beginning::New,
            model: asked,
            runtime: Arc::new(swarm_agent::ModelLoop),
            models: Arc::new(swarm_agent::NoOtherModels),
            spending: Arc::new(crate::SpendingMeter::new(
                swarm_protocol::MemberName::lead(),
                &world.spawn_context.agent_config,
                None,
            )),
            rules: RuleSet::default(),
            events: Arc::new(Events::default()),
            person: None,
            host: swarm_agent::HostFacts::default(),
            is_interactive: false,
            is_coordinator: false,
            output: None,
            instructions: Vec::new(),
            max_requests: 20,
            command_wait: Duration::from_mins(1),
            timeout: None,
            remove_team: false,
            peers: None,
            stop: CancellationToken::new(),
            hangup: CancellationToken::new(),
            kill: CancellationToken::new(),
        };
        Self {
            world: Arc::new(world),
            model,
            parts,
        }
    }

    /// With the team `crew` from the start.
    pub(super) fn with_team() -> Self {
        Self::new().with_new_team()
    }

    fn with_new_team(mut self) -> Self {
        self.parts.team = Some(team());
        self
    }

    pub(super) async fn go(self) -> Result<RunReport, LeadError> {
        let run = Box::pin(run_lead(self.parts, Some("do it".to_owned())));
        let ended = tokio::time::timeout(Duration::from_secs(40), run).await;
        ended.expect("the run ends")
    }

    /// Sets the model's next reply, before which a member joins, simulated by a thread with its
    /// spawn ID.
    fn member_joins(&self, act: impl FnOnce(Arc<World>, swarm_protocol::SpawnId) + Send + 'static) {
        let world = self.world.clone();
        self.model.on(move |_| {
            let spawn = world.join("bob");
            act(world, spawn);
            say("bob works")
        });
    }
}

#[tokio::test]
async fn a_run_without_a_team_ends_with_the_leads_last_words() {
    let run = Run::new();
    run.model.then(say("done"));
    let world = run.world.clone();
    let report = run.go().await.unwrap();
    assert_eq!(
        (report.outcome, report.result.as_str()),
        (Outcome::Completed, "done")
    );
    assert_eq!(report.team, None);
    assert_eq!(world.store.teams().await.unwrap(), []);
}

#[tokio::test]
async fn open_tasks_without_a_worker_are_reported_once_and_then_end_the_run() {
    let run = Run::with_team();
    let model = run.model.clone();
    model.then(call(
        "TaskCreate",
        json!({"subject": "paint", "description": "d"}),
    ));
    model.then(say("please paint"));
    model.then(say("really"));
    let report = run.go().await.unwrap();
    assert_eq!(report.outcome, Outcome::Stalled);
    assert_eq!(report.tasks[0].state, TaskState::Pending);
    let requests = model.requests();
    assert_eq!(requests.len(), 3);
    let told = heard(&requests[2]);
    assert!(
        told.contains("All agents are idle") && told.contains("#1 [pending] paint"),
        "{told}"
    );
}

#[tokio::test]
async fn a_nudge_that_moves_the_lead_is_followed_by_success() {
    let run = Run::with_team();
    run.model.then(call(
        "TaskCreate",
        json!({"subject": "paint", "description": "d"}),
    ));
    run.model.then(say("made a task"));
    let done = json!({"taskId": "1", "status": "completed", "result": "red"});
    run.model.then(call("TaskUpdate", done));
    run.model.then(say("painted it myself"));
    let report = run.go().await.unwrap();
    assert_eq!(report.outcome, Outcome::Completed);
    assert_eq!(report.tasks[0].result.as_deref(), Some("red"));
    assert_eq!(report.tasks[0].owner.as_deref(), Some("team-lead"));
}

#[tokio::test]
async fn l12_a_run_does_not_end_while_a_member_works_and_ends_it_in_order() {
    let run = Run::with_team();
    let world = run.world.clone();
    run.member_joins(|world, spawn| {
        let life = world.live("bob", spawn);
        world.report("bob", spawn, MemberState::Working);
        std::thread::spawn(move || {
            swarm_testkit::wait_for("the lead to wait", || {
                let state = world
                    .store
                    .team(&team())
                    .state(&name("team-lead"))
                    .block_on()
                    .unwrap()?;
                (state.state == MemberState::Idle).then_some(())
            });
            // Messages without a turn are removed and the lead checks its team again: it must still
            // handle the next one.
            for _ in 0..3 {
                idle_notice(&world.store, "bob", None);
                swarm_testkit::wait_for("the lead to look", || {
                    (world.unread("team-lead") == 0).then_some(())
                });
            }
            idle_notice(&world.store, "bob", Some("all green"));
            drop(life);
            drop(world.play("bob", spawn, Answer::Approve).join().unwrap());
        });
    });
    run.model.then(say("bob is done"));
    let model = run.model.clone();
    let report = run.go().await.unwrap();
    assert_eq!(report.outcome, Outcome::Completed);
    assert_eq!(report.result, "bob is done");
    let requests = model.requests();
    assert_eq!(requests.len(), 2);
    assert!(heard(&requests[1]).contains("all green"));
    assert!(!world.has("bob"));
    assert_eq!(
        (
            report.members[0].name.as_str(),
            report.members[0].end.as_str()
        ),
        ("bob", "approved")
    );
}

#[tokio::test]
async fn d8_an_empty_idle_notice_costs_no_turn() {
    let run = Run::with_team();
    let world = run.world.clone();
    run.member_joins(|world, spawn| {
        let bob = world.play("bob", spawn, Answer::Approve);
        for _ in 0..20 {
            idle_notice(&world.store, "bob", None);
        }
        std::thread::spawn(move || drop(bob.join().unwrap()));
    });
    let model = run.model.clone();
    let report = run.go().await.unwrap();
    assert_eq!((report.outcome, model.asked()), (Outcome::Completed, 1));
    assert_eq!(world.unread("team-lead"), 0);
}

#[tokio::test]
async fn l6_a_death_is_reported_to_the_lead_once() {
    let run = Run::with_team();
    let world = run.world.clone();
    run.member_joins(|world, spawn| {
        let life = world.live("bob", spawn);
        world.report("bob", spawn, MemberState::Working);
        std::thread::spawn(move || {
            swarm_testkit::wait_for("the lead to wait", || {
                let state = world
                    .store
                    .team(&team())
                    .state(&name("team-lead"))
                    .block_on()
                    .unwrap()?;
                (state.state == MemberState::Idle).then_some(())
            });
            drop(life);
        });
    });
    run.model.then(say("so be it"));
    let model = run.model.clone();
    let report = run.go().await.unwrap();
    assert_eq!(report.outcome, Outcome::Completed);
    let requests = model.requests();
    assert_eq!(requests.len(), 2);
    let told = heard(&requests[1]);
    assert_eq!(told.matches("bob died unexpectedly").count(), 1, "{told}");
    assert!(report.members[0].end.starts_with("died"), "{report:?}");
    assert!(!world.has("bob"));
}

#[tokio::test]
async fn a_lead_that_fails_ends_its_members() {
    let run = Run::with_team();
    let world = run.world.clone();
    run.model.on(move |_| {
        let spawn = world.join("bob");
        let player = world.play("bob", spawn, Answer::Approve);
        std::thread::spawn(move || drop(player.join().unwrap()));
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
    let views = world.store.team(&team()).member_view().await.unwrap();
    let lead = &views[0];
    assert_eq!(lead.state, MemberState::Failed, "{lead:?}");
    let last = lead.report.as_ref().and_then(|last| last.detail.clone());
    assert_eq!(last.as_ref(), Some(why));
}

#[tokio::test]
async fn a_lead_whose_conversation_has_no_room_left_is_exhausted() {
    let run = Run::with_team();
    for _ in 0..8 {
        run.model.then(Reply::Fail(ModelError::ContextTooLong {
            message: "prompt is too long".to_owned(),
        }));
    }
    let world = run.world.clone();
    let report = run.go().await.unwrap();
    assert!(
        matches!(report.outcome, Outcome::LeadFailed(_)),
        "{report:?}"
    );
    let views = world.store.team(&team()).member_view().await.unwrap();
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
    swarm_team::reconcile(&world.store.team(&team())).unwrap();
    let bob = reserve(&world.store, &world.path(), "bob", None);
    commit(&world.store, bob);
    let mut child = Child::start(&world.spawn_context.root, "bob", bob);
    run.parts.team = Some(team());
    run.parts.beginning = Beginning::Respawn;
    // Members cannot be respawned with a missing program.
    run.parts.spawn_context.program = world.path().join("missing");
    let (root, cwd) = (&world.spawn_context.root, &world.spawn_context.cwd);
    let transcript = swarm_agent::transcript_path(root, cwd, run.parts.session);
    run.parts.events = Arc::new(BreaksTranscript(transcript));
    let error = run.go().await.unwrap_err();
    assert!(matches!(error, LeadError::Engine(_)), "{error}");
    until("the end of the process", || child.has_ended().then_some(())).await;
    assert!(
        world
            .store
            .team(&team())
            .config()
            .await
            .unwrap()
            .lead_process
            .is_none()
    );
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
    let (stop, world) = (run.parts.stop.clone(), run.world.clone());
    run.model.on(move |_| {
        let spawn = world.join("bob");
        let player = world.play("bob", spawn, Answer::Approve);
        std::thread::spawn(move || drop(player.join().unwrap()));
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
    let (stop, kill) = (run.parts.stop.clone(), run.parts.kill.clone());
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
    let config = world.store.team(&team()).config().await.unwrap();
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
async fn a_question_of_the_lead_is_answered_in_the_queue_and_leaves_no_mail() {
    let mut run = Run::with_team();
    run.parts.spawn_context.mode = PermissionMode::Default;
    run.parts.spawn_context.limits.permission_timeout_ms = 3_600_000;
    run.model
        .then(call("Bash", json!({"command": "touch made"})));
    run.model.then(say("made"));
    let world = run.world.clone();
    let answerer = {
        let world = run.world.clone();
        std::thread::spawn(move || {
            let request = swarm_testkit::wait_for("a request", || {
                let list = world.store.team(&team()).requests().block_on().ok()?;
                list.requests.into_iter().next()
            });
            swarm_team::approve(
                &*world.store.team(&team()),
                &request,
                false,
                AnsweredBy::default(),
            )
            .block_on()
            .unwrap();
        })
    };
    let report = run.go().await.unwrap();
    answerer.join().unwrap();
    assert_eq!(report.outcome, Outcome::Completed);
    assert!(world.path().join("made").exists());
    assert_eq!(world.unread("team-lead"), 0);
    assert!(
        world
            .store
            .team(&team())
            .requests()
            .await
            .unwrap()
            .requests
            .is_empty()
    );
}

#[tokio::test]
async fn state_of_a_former_member_does_not_hold_up_the_end() {
    let run = Run::with_team();
    run.member_joins(|world, spawn| {
        drop(world.live("bob", spawn));
        report_state(&world.store, &team(), "bob", spawn, MemberState::Stopped);
    });
    run.model.then(say("bob has left"));
    let report = run.go().await.unwrap();
    assert_eq!(report.outcome, Outcome::Completed);
}

#[tokio::test]
async fn a_lead_waits_for_a_shutdown_and_deletes_the_team() {
    let run = Run::with_team();
    let world = run.world.clone();
    run.model.on(move |_| {
        let spawn = world.join("bob");
        let bob = world.play("bob", spawn, Answer::Approve);
        std::thread::spawn(move || drop(bob.join().unwrap()));
        let request = json!({"type": "shutdown_request", "reason": "thank you"});
        call("SendMessage", json!({"to": "bob", "message": request}))
    });
    run.model.then(say("waiting for bob"));
    run.model.on(|request| {
        let heard = heard(request);
        assert!(heard.contains("bob has shut down."), "{heard}");
        call("TeamDelete", json!({}))
    });
    run.model.then(say("the team is deleted"));
    let (world, model) = (run.world.clone(), run.model.clone());
    let report = run.go().await.unwrap();
    assert_eq!(report.outcome, Outcome::Completed);
    let last = heard(model.requests().last().unwrap());
    assert_eq!(
        (report.team, world.store.teams().await.unwrap()),
        (None, vec![]),
        "{last}"
    );
}

#[tokio::test]
async fn the_result_is_the_final_report_that_is_asked_for_once() {
    const REPORT: &str = "The import is slow because the table is built on every call.";
    const CHATTER: &str =
        "Bob has found the cause, and he tells me that he is glad to shut down now.";
    let run = Run::with_team();
    run.model.then(call(
        "TaskCreate",
        json!({"subject": "look", "description": "d"}),
    ));
    run.model.then(call(
        "TaskUpdate",
        json!({"taskId": "1", "status": "completed", "result": "found"}),
    ));
    let world = run.world.clone();
    run.model.on(move |_| {
        let spawn = world.join("bob");
        let bob = world.play("bob", spawn, Answer::Approve);
        std::thread::spawn(move || drop(bob.join().unwrap()));
        idle_notice(&world.store, "bob", Some("found it, too"));
        say(CHATTER)
    });
    run.model.then(say("Done."));
    let world = run.world.clone();
    run.model.on(move |request| {
        assert!(heard(request).contains("Write the final report now"));
        idle_notice(&world.store, "bob", Some("a late notice"));
        say(REPORT)
    });
    run.model.then(say("Nothing new."));
    let model = run.model.clone();
    let report = run.go().await.unwrap();
    assert_eq!(report.outcome, Outcome::Completed);
    assert_eq!((model.asked(), report.result.as_str()), (6, REPORT));
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
    let config = world.store.team(&team()).config().await.unwrap();
    assert!(config.member(&name("bob")).is_some(), "no one stopped it");
    assert!(config.lead_process.is_some(), "so members see it as lost");
}

#[tokio::test]
async fn a_team_name_that_is_taken_gets_a_number_and_works_under_both_names() {
    let run = Run::new();
    run.world.create_team();
    let with_type = json!({"team_name": "crew", "agent_type": "general-purpose"});
    run.model.then(call("TeamCreate", with_type));
    run.model.on(|request| {
        let heard = heard(request);
        assert!(heard.contains("unknown parameter `agent_type`"), "{heard}");
        call("TeamCreate", json!({"team_name": "crew"}))
    });
    let agent = json!({"name": "bob", "description": "d", "prompt": "p", "team_name": "crew"});
    run.model.on(move |request| {
        let heard = heard(request);
        assert!(heard.contains("teams/crew-2/config.json"), "{heard}");
        call("Agent", agent)
    });
    run.model.on(|request| {
        // The spawn fails because of the missing program, not because of the team's name.
        let heard = heard(request);
        assert!(!heard.contains("omit team_name"), "{heard}");
        say("done")
    });
    let mut run = run;
    run.parts.spawn_context.program = run.world.path().join("missing");
    let world = run.world.clone();
    let report = run.go().await.unwrap();
    assert_eq!(
        report.team.as_ref().map(swarm_protocol::TeamName::as_str),
        Some("crew-2")
    );
    assert_eq!(world.store.teams().await.unwrap().len(), 2);
}

#[tokio::test]
async fn a_run_whose_terminal_closes_or_whose_time_is_up_leaves_its_members_to_another_lead() {
    for is_hangup in [true, false] {
        let mut run = Run::with_team();
        let (stop, hangup) = (run.parts.stop.clone(), run.parts.hangup.clone());
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
        let config = world.store.team(&team()).config().await.unwrap();
        let bob = config.member(&name("bob")).unwrap();
        assert!(bob.session_id.is_some() && world.stops().is_empty());
        // The lock is released with the lead: this makes members park.
        assert_eq!(config.lead_process.unwrap().pid, session.pid);
        assert_eq!(
            world
                .store
                .team(&team())
                .liveness(&name("team-lead"))
                .await
                .unwrap(),
            swarm_os::Liveness::Dead
        );
        let asked = |event: &swarm_protocol::Event| {
            matches!(event, swarm_protocol::Event::ShutdownRequested { .. })
        };
        assert!(!world.journal().iter().any(asked));
    }
}
