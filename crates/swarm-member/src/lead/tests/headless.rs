//! Complete runs with simulated members.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use swarm_model::Model;
use swarm_protocol::{AnsweredBy, MemberState, PermissionMode, TaskState};
use swarm_store::BlockOn as _;
use swarm_supervisor::LeadError;
use swarm_testkit::{
    Answer, Events, FakeModel, World, call, heard, idle_notice, name, report_state, say, team,
    until,
};
use swarm_ui::PaneInput;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

use crate::{LeadParts, ModelServices, Outcome, RunReport, run_lead};

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
    pub(super) fn on_files() -> Self {
        Self::of(World::on_files_without_team())
    }

    fn of(mut world: World) -> Self {
        world.spawn_context.permissions.mode = PermissionMode::BypassPermissions;
        world.spawn_context.permissions.ceiling = PermissionMode::BypassPermissions;
        world.spawn_context.limits.shutdown_grace_ms = 20;
        let model = Arc::new(FakeModel::default());
        let asked: Arc<dyn Model> = model.clone();
        let services = ModelServices {
            runtime: Arc::new(swarm_agent::ModelLoop),
            model: asked,
            models: Arc::new(swarm_agent::NoOtherModels),
            spending: Arc::new(crate::SpendingMeter::new(
                swarm_protocol::MemberName::lead(),
                &world.spawn_context.definition.config,
                None,
            )),
        };
        let parts = LeadParts {
            events: Arc::new(Events::default()),
            command_wait: Duration::from_mins(1),
            ..LeadParts::new(world.spawn_context.clone(), services)
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

    pub(super) fn with_new_team(mut self) -> Self {
        self.parts.team = Some(team());
        self
    }

    /// An interactive run without a team. Returns its terminal's input, and its events.
    pub(super) fn interactive() -> (Self, UnboundedSender<PaneInput>, Arc<Events>) {
        let mut run = Self::new();
        run.parts.is_interactive = true;
        let (person, events) = (run.terminal(), Arc::new(Events::default()));
        run.parts.events = events.clone();
        (run, person, events)
    }

    /// Adds a terminal. Returns its input.
    pub(super) fn terminal(&mut self) -> UnboundedSender<PaneInput> {
        let (person, inputs) = unbounded_channel();
        self.parts.person = Some(inputs);
        person
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

/// Waits until a number of turns have ended.
pub(super) async fn turns_ended(events: &Events, count: usize) {
    until("the end of the turn", || {
        (events.turns_ended() == count).then_some(())
    })
    .await;
}

/// Bob joins, and agrees to stop.
pub(super) fn bob_joins(world: &Arc<World>) {
    let spawn = world.join("bob");
    let bob = world.play("bob", spawn, Answer::Approve);
    std::thread::spawn(move || drop(bob.join().unwrap()));
}

fn paint() -> Value {
    json!({"subject": "paint", "description": "d"})
}

fn wait_for_idle_lead(world: &World) {
    swarm_testkit::wait_for("the lead to wait", || {
        let state = world.crew().state(&name("team-lead")).block_on().unwrap()?;
        (state.state == MemberState::Idle).then_some(())
    });
}

#[tokio::test]
async fn a_run_without_a_team_ends_with_the_leads_last_words() {
    let run = Run::new();
    run.model.then(say("done"));
    let world = run.world.clone();
    let report = run.go().await.unwrap();
    assert_eq!(report.outcome, Outcome::Completed);
    assert_eq!(report.result, "done");
    assert_eq!(report.team, None);
    assert_eq!(world.store.teams().await.unwrap(), []);
}

#[tokio::test]
async fn open_tasks_without_a_worker_are_reported_once_and_then_end_the_run() {
    let run = Run::with_team();
    let model = run.model.clone();
    model.then(call("TaskCreate", paint()));
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
    run.model.then(call("TaskCreate", paint()));
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
            wait_for_idle_lead(&world);
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
    let bob = &report.members[0];
    assert_eq!((bob.name.as_str(), bob.end.as_str()), ("bob", "approved"));
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
            wait_for_idle_lead(&world);
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
async fn a_question_of_the_lead_is_answered_in_the_queue_and_leaves_no_mail() {
    let mut run = Run::with_team();
    run.parts.spawn_context.permissions.mode = PermissionMode::Default;
    run.parts.spawn_context.limits.permission_timeout_ms = 3_600_000;
    run.model
        .then(call("Bash", json!({"command": "touch made"})));
    run.model.then(say("made"));
    let world = run.world.clone();
    let answerer = {
        let world = run.world.clone();
        std::thread::spawn(move || {
            let request = swarm_testkit::wait_for("a request", || {
                let list = world.crew().requests().block_on().ok()?;
                list.requests.into_iter().next()
            });
            swarm_team::answer_request(
                &*world.crew(),
                &request,
                swarm_protocol::Answer::once(),
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
    assert!(world.crew().requests().await.unwrap().requests.is_empty());
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
        bob_joins(&world);
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
    assert_eq!(report.team, None, "{last}");
    assert_eq!(world.store.teams().await.unwrap(), [], "{last}");
}

#[tokio::test]
async fn the_result_is_the_final_report_that_is_asked_for_once() {
    const REPORT: &str = "The import is slow because the table is built on every call.";
    const CHATTER: &str =
        "Bob has found the cause, and he tells me that he is glad to shut down now.";
    let run = Run::with_team();
    run.model.then(call("TaskCreate", paint()));
    let done = json!({"taskId": "1", "status": "completed", "result": "found"});
    run.model.then(call("TaskUpdate", done));
    let world = run.world.clone();
    run.model.on(move |_| {
        bob_joins(&world);
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
async fn a_team_name_that_is_taken_gets_a_number_and_works_under_both_names() {
    let mut run = Run::new();
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
    run.parts.spawn_context.program = run.world.path().join("missing");
    let world = run.world.clone();
    let report = run.go().await.unwrap();
    assert_eq!(report.team.unwrap().as_str(), "crew-2");
    assert_eq!(world.store.teams().await.unwrap().len(), 2);
}
