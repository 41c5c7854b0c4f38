//! A person at the terminal of a run.

use std::sync::Arc;

use serde_json::json;
use swarm_protocol::MemberName;
use swarm_store::TeamStore;
use swarm_testkit::{Events, call, heard, say, team, until};
use swarm_ui::PaneInput;
use tokio::sync::mpsc::unbounded_channel;

use super::headless::Run;
use crate::Outcome;

#[tokio::test]
async fn a_person_at_the_terminal_is_heard_without_a_team_between_two_calls_and_before_the_end() {
    let mut run = Run::new();
    let (person, inputs) = unbounded_channel();
    run.parts.person = Some(inputs);
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
async fn an_interrupted_lead_waits_for_the_person_who_interrupted_it() {
    let mut run = Run::new();
    let (person, inputs) = unbounded_channel();
    run.parts.person = Some(inputs);
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
    let (person, inputs) = unbounded_channel();
    run.parts.person = Some(inputs);
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
    let inbox = world.store.inbox(&team(), &MemberName::lead()).unwrap();
    assert!(inbox.entries[0].read && inbox.entries[0].text == "by the way");
}
