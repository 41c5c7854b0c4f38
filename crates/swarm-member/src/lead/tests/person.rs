//! A person at the terminal of a run.

use std::sync::Arc;

use serde_json::json;
use swarm_model::ModelError;
use swarm_permissions::HookSettings;
use swarm_protocol::{MemberName, NewTask, RequestId, RequestKind, RequestRecord, SpawnId, UnixMs};
use swarm_store::{Actor, BlockOn as _};
use swarm_supervisor::implicit_team_name;
use swarm_testkit::{Events, Reply, call, heard, say, team, until};
use swarm_ui::PaneInput;

use super::headless::{Run, turns_ended};
use crate::{Beginning, Outcome, run_lead};

#[tokio::test]
async fn terminal_input_is_read_without_a_team_between_calls_and_before_the_end() {
    let mut run = Run::new();
    let person = run.terminal();
    let typed = |text: &str| person.send(PaneInput::Line(text.to_owned())).unwrap();
    let model = run.model.clone();
    typed("first of all");
    let (early, late) = (person.clone(), person.clone());
    model.on(move |_| {
        early.send(PaneInput::Line("by the way".into())).unwrap();
        call("Bash", json!({"command": "sleep 0.3"}))
    });
    model.on(move |_| {
        late.send(PaneInput::Line("one more".into())).unwrap();
        say("nearly done")
    });
    model.then(say("done"));
    let report = run.go().await.unwrap();
    assert_eq!(report.result, "done");
    let requests = model.requests();
    assert_eq!(requests.len(), 3);
    for (request, text) in requests
        .iter()
        .zip(["first of all", "by the way", "one more"])
    {
        let told = heard(request);
        assert!(
            told.contains("teammate_id=\"user\"") && told.contains(text),
            "{told}"
        );
    }
}

#[tokio::test]
async fn an_interrupted_lead_waits_for_input() {
    let mut run = Run::new();
    let person = run.terminal();
    let events = Arc::new(Events::default());
    run.parts.events = events.clone();
    let model = run.model.clone();
    model.then(call("Bash", json!({"command": "sleep 60"})));
    model.then(say("done"));
    let running = tokio::spawn(run.go());
    until("the request", || {
        (!model.requests().is_empty()).then_some(())
    })
    .await;
    person.send(PaneInput::Interrupt).unwrap();
    until("the wait", || {
        let notices = events.notices();
        let waits = notices
            .iter()
            .any(|line| line.contains("what to do instead"));
        waits.then_some(())
    })
    .await;
    assert!(!running.is_finished());
    person.send(PaneInput::Line("go on".into())).unwrap();
    let report = running.await.unwrap().unwrap();
    assert_eq!(
        (report.outcome, report.result.as_str()),
        (Outcome::Completed, "done")
    );
}

#[tokio::test]
async fn with_a_team_what_is_typed_goes_through_the_inbox_in_the_name_of_the_person() {
    let mut run = Run::with_team();
    let person = run.terminal();
    let world = run.world.clone();
    run.model.on(move |_| {
        person.send(PaneInput::Line("by the way".into())).unwrap();
        say("nearly done")
    });
    run.model.then(say("done"));
    let model = run.model.clone();
    run.go().await.unwrap();
    let told = heard(&model.requests()[1]);
    assert!(
        told.contains("teammate_id=\"user\"") && told.contains("by the way"),
        "{told}"
    );
    let inbox = world.crew().inbox(&MemberName::lead()).await.unwrap();
    assert!(inbox.entries[0].read && inbox.entries[0].text == "by the way");
}

#[tokio::test]
async fn an_interactive_lead_waits_for_prompts_survives_a_failed_turn_and_ends_when_it_is_told_to()
{
    let (run, person, events) = Run::interactive();
    let (model, stop) = (run.model.clone(), run.parts.stops.stop.clone());
    model.then(say("hello yourself"));
    model.then(Reply::Fail(ModelError::InvalidRequest("no".to_owned())));
    model.then(say("better"));
    let running = tokio::spawn(run_lead(run.parts, None));
    for (count, text) in ["hello", "try this", "and this"].into_iter().enumerate() {
        person.send(PaneInput::Line(text.into())).unwrap();
        turns_ended(&events, count + 1).await;
    }
    let requests = model.requests();
    assert_eq!(requests.len(), 3);
    let told = heard(&requests[0]);
    assert!(
        told.contains("hello") && !told.contains("teammate_id"),
        "{told}"
    );
    assert!(!running.is_finished());
    stop.cancel();
    let report = running.await.unwrap().unwrap();
    assert_eq!(
        (report.outcome, report.result.as_str()),
        (Outcome::Completed, "better")
    );
}

#[tokio::test]
async fn a_prompt_that_a_hook_stops_is_not_sent_and_the_lead_waits_for_another() {
    let (mut run, person, events) = Run::interactive();
    let line =
        r#"grep -q secret && echo '{"continue": false, "stopReason": "no secrets"}' || true"#;
    let hook = json!({"UserPromptSubmit": [{"hooks": [{"type": "command", "command": line}]}]});
    let config = &mut run.parts.spawn_context.definition.config;
    Arc::make_mut(config).hooks = HookSettings::read(&hook, "test").0;
    let (model, stop) = (run.model.clone(), run.parts.stops.stop.clone());
    model.then(say("hello yourself"));
    let running = tokio::spawn(run_lead(run.parts, None));
    for (count, text) in ["the secret is 7", "hello"].into_iter().enumerate() {
        person.send(PaneInput::Line(text.into())).unwrap();
        turns_ended(&events, count + 1).await;
    }
    let notices = events.notices();
    let with_reason = notices.iter().filter(|line| line.contains("no secrets"));
    let with_reason: Vec<_> = with_reason.collect();
    let once = "hook UserPromptSubmit stops the agent: no secrets";
    assert_eq!(with_reason, [once], "{notices:?}");
    let requests = model.requests();
    assert_eq!(requests.len(), 1);
    let told = heard(&requests[0]);
    assert!(
        told.contains("hello") && !told.contains("the secret"),
        "{told}"
    );
    stop.cancel();
    running.await.unwrap().unwrap();
}

#[tokio::test]
async fn an_interactive_lead_that_was_never_prompted_removes_its_own_team_unless_it_has_tasks() {
    for (is_named, has_task) in [(false, false), (false, true), (true, false)] {
        let mut run = Run::on_files().with_new_team();
        run.parts.is_interactive = true;
        let name = if is_named {
            team()
        } else {
            implicit_team_name(run.parts.session).unwrap()
        };
        run.parts.team = Some(name.clone());
        let (world, stop) = (run.world.clone(), run.parts.stops.stop.clone());
        let running = tokio::spawn(run_lead(run.parts, None));
        let created = || async { !world.store.teams().await.unwrap().is_empty() };
        while !created().await {
            tokio::task::yield_now().await;
        }
        if has_task {
            let (by, task) = (Actor::person(&name), NewTask::default());
            let created = world.store.team(&name);
            created.create_tasks(&[task], &by).await.unwrap();
        }
        stop.cancel();
        let report = running.await.unwrap().unwrap();
        let is_kept = is_named || has_task;
        let kept = if is_kept { vec![name] } else { Vec::new() };
        assert_eq!(world.store.teams().await.unwrap(), kept);
        assert_eq!(report.team.is_some(), is_kept);
    }
}

#[tokio::test]
async fn an_interactive_lead_without_teammates_whose_terminal_closes_leaves_no_lost_team() {
    let mut run = Run::on_files().with_new_team();
    run.parts.is_interactive = true;
    let (world, stop) = (run.world.clone(), run.parts.stops.stop.clone());
    let hangup = run.parts.stops.hangup.clone();
    let running = tokio::spawn(run_lead(run.parts, None));
    while world.store.teams().await.unwrap().is_empty() {
        tokio::task::yield_now().await;
    }
    hangup.cancel();
    stop.cancel();
    running.await.unwrap().unwrap();
    assert_eq!(world.crew().config().await.unwrap().lead_process, None);
}

#[tokio::test]
async fn a_command_that_is_typed_is_carried_out_and_never_shown_to_the_model() {
    let (run, person, events) = Run::interactive();
    let (model, stop) = (run.model.clone(), run.parts.stops.stop.clone());
    model.then(say("hello yourself"));
    let running = tokio::spawn(run_lead(run.parts, None));
    for line in ["/compact", "/unknown", "hello"] {
        person.send(PaneInput::Line(line.into())).unwrap();
    }
    turns_ended(&events, 1).await;
    stop.cancel();
    running.await.unwrap().unwrap();
    let notices = events.notices().join("\n");
    assert!(
        notices.contains("will be compacted") && notices.contains("commands here: /compact"),
        "{notices}"
    );
    for request in model.requests() {
        let told = heard(&request);
        assert!(
            !told.contains("/compact") && !told.contains("/unknown"),
            "{told}"
        );
    }
}

#[tokio::test]
async fn an_interactive_lead_that_takes_over_a_team_asks_its_model_nothing_before_the_first_prompt()
{
    let mut run = Run::new();
    run.world.create_team();
    let kind = RequestKind::Sandbox {
        host: "a.example".to_owned(),
    };
    let id = RequestId::new("sandbox-1-abcdefg");
    let of_earlier_lead = RequestRecord {
        spawn_id: Some(SpawnId::random()),
        ..RequestRecord::open(id, MemberName::lead(), kind, UnixMs(1))
    };
    let opened = run.world.crew().open_request(of_earlier_lead, None).await;
    opened.unwrap();
    let person = run.terminal();
    run.parts.is_interactive = true;
    run.parts.team = Some(team());
    run.parts.beginning = Beginning::TakeOver;
    let (model, stop, world) = (
        run.model.clone(),
        run.parts.stops.stop.clone(),
        run.world.clone(),
    );
    model.then(say("welcome back"));
    let running = tokio::spawn(run_lead(run.parts, None));
    until("the wait for a prompt", || {
        let members = world.crew().member_view().block_on().ok()?;
        let lead = members.first()?.report.as_ref()?;
        (lead.detail.as_deref() == Some("waiting for a prompt")).then_some(())
    })
    .await;
    assert_eq!(model.asked(), 0);
    let left = world.crew().requests().await.unwrap().requests;
    assert!(left.is_empty(), "{left:?}");
    person
        .send(PaneInput::Line("where were we?".into()))
        .unwrap();
    until("the request", || (model.asked() == 1).then_some(())).await;
    let told = heard(&model.requests()[0]);
    assert!(
        told.contains("where were we?") && told.contains("teammate_id=\"system\""),
        "{told}"
    );
    stop.cancel();
    running.await.unwrap().unwrap();
}

/// Creates any model.
#[derive(Debug)]
struct Other(Arc<swarm_testkit::FakeModel>);

impl swarm_agent::ModelFactory for Other {
    fn model(&self, name: &str) -> Result<swarm_agent::ReadyModel, String> {
        if name != "other" {
            return Err(format!("there is no model {name}"));
        }
        Ok(swarm_agent::ReadyModel {
            client: Arc::clone(&self.0) as _,
            name: "other-1".to_owned(),
            window: None,
            max_output: None,
        })
    }
}

#[tokio::test]
async fn a_person_starts_a_new_conversation_and_changes_the_model() {
    let (mut run, person, events) = Run::interactive();
    let other = swarm_testkit::FakeModel::saying("I am another");
    run.parts.services.models = Arc::new(Other(Arc::clone(&other)));
    let (model, stop) = (run.model.clone(), run.parts.stops.stop.clone());
    model.then(say("one"));
    model.then(say("two"));
    let running = tokio::spawn(run_lead(run.parts, None));
    let lines = [
        "the-alpha",
        "/clear",
        "the-beta",
        "/model none",
        "/model other",
        "the-gamma",
    ];
    let mut prompts = 0;
    for line in lines {
        person.send(PaneInput::Line(line.into())).unwrap();
        if line.starts_with("the") {
            prompts += 1;
            turns_ended(&events, prompts).await;
        }
    }
    stop.cancel();
    running.await.unwrap().unwrap();
    let second = format!("{:?}", model.requests()[1]);
    assert!(
        second.contains("the-beta") && !second.contains("the-alpha"),
        "{second}"
    );
    assert_eq!(model.requests().len(), 2);
    let third = &other.requests()[0];
    assert_eq!(third.model, "other-1");
    assert!(format!("{third:?}").contains("the-beta"));
    assert!(
        events
            .notices()
            .join("\n")
            .contains("there is no model none")
    );
}
