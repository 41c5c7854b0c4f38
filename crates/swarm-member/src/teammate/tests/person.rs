//! A person at the member's pane.

use std::sync::Arc;

use serde_json::json;
use swarm_agent::Rights;
use swarm_permissions::RuleSet;
use swarm_protocol::{IdleReason, MemberState, PermissionMode};
use swarm_store::{BlockOn as _, StoreLimits, TeamStore};
use swarm_ui::PaneInput;

use super::world::{Screen, World, bob, team, until};
use crate::mail::MailHandler;
use crate::person::{Person, PersonCommands};
use crate::teammate::Ending;
use crate::teammate::mail::TeammateMail;
use swarm_testkit::{FakeModel, call, heard, say};

fn line(text: &str) -> PaneInput {
    PaneInput::Line(text.to_owned())
}

#[tokio::test]
async fn a_typed_line_is_a_message_of_the_lead_and_esc_at_rest_does_nothing() {
    let world = World::new();
    let model = FakeModel::saying("hello yourself");
    let (running, person) = world.run_in_pane(None, &model);
    world.in_state(MemberState::Idle).await;
    person.send(PaneInput::Interrupt).unwrap();
    person.send(line("hello\nthere")).unwrap();
    let notices = world.idle(1).await;
    assert_eq!(notices[0].result.as_deref(), Some("hello yourself"));
    let told = heard(&model.requests()[0]);
    assert!(
        told.contains("teammate_id=\"team-lead\"") && told.contains("hello\nthere"),
        "{told}"
    );
    let inbox = world.crew().inbox(&bob()).await.unwrap();
    assert!(inbox.entries[0].is_urgent() && inbox.entries[0].read);
    person.send(PaneInput::Shutdown).unwrap();
    assert_eq!(running.ending().await, Ending::ShutDown);
}

#[tokio::test]
async fn a_shell_command_that_answers_a_request_is_not_sent_to_the_model() {
    let world = World::new();
    let model = FakeModel::saying("hello yourself");
    let (running, person) = world.run_in_pane(None, &model);
    world.in_state(MemberState::Idle).await;
    person.send(line("swarm approve p2 --answer red")).unwrap();
    person.send(line("hello")).unwrap();
    world.idle(1).await;
    let told = heard(&model.requests()[0]);
    assert!(
        told.contains("hello") && !told.contains("swarm approve"),
        "{told}"
    );
    let inbox = world.crew().inbox(&bob()).await.unwrap();
    assert_eq!(inbox.entries.len(), 1);
    person.send(PaneInput::Shutdown).unwrap();
    assert_eq!(running.ending().await, Ending::ShutDown);
}

#[tokio::test]
async fn d7_a_line_typed_in_a_turn_is_read_between_two_calls() {
    let world = World::new();
    let model = Arc::new(FakeModel::default());
    model.then(call("Bash", json!({"command": "sleep 0.3"})));
    model.then(say("seen"));
    let (running, person) = world.run_in_pane(Some("go"), &model);
    world.in_state(MemberState::Working).await;
    person.send(line("the other way")).unwrap();
    world.idle(1).await;
    let requests = model.requests();
    assert!(heard(&requests[1]).contains("the other way"));
    assert_eq!(requests.len(), 2);
    running.crash().await;
}

#[tokio::test]
async fn esc_cuts_a_call_tells_the_lead_and_leaves_what_was_typed_to_the_next_turn() {
    let world = World::new();
    let model = Arc::new(FakeModel::default());
    model.then(call("Bash", json!({"command": "sleep 60"})));
    model.then(say("better"));
    let (running, person) = world.run_in_pane(Some("go"), &model);
    until("the call", || {
        world.transcript().contains("sleep 60").then_some(())
    })
    .await;
    person.send(line("do this instead")).unwrap();
    person.send(PaneInput::Interrupt).unwrap();
    let notices = world.idle(2).await;
    assert_eq!(notices[0].idle_reason, Some(IdleReason::Interrupted));
    assert_eq!(notices[1].result.as_deref(), Some("better"));
    assert_eq!(world.outcomes(), ["interrupted", "finished"]);
    assert!(heard(&model.requests()[1]).contains("do this instead"));
    running.crash().await;
}

#[tokio::test]
async fn who_types_into_a_parked_pane_is_answered_and_other_mail_waits() {
    let world = World::new();
    drop(world.lead());
    let model = FakeModel::saying("I am parked");
    let (running, person) = world.run_in_pane(Some("go"), &model);
    world.in_state(MemberState::Parked).await;
    person.send(line("how are you?")).unwrap();
    world.idle(1).await;
    world.in_state(MemberState::Parked).await;
    let told = heard(&model.requests()[0]);
    assert!(
        told.contains("how are you?") && !told.contains("go\n"),
        "{told}"
    );
    assert_eq!(world.unread("bob"), 1);
    running.crash().await;
}

fn rights() -> Arc<Rights> {
    let mode = PermissionMode::AcceptEdits;
    Arc::new(Rights::new(mode, RuleSet::default(), mode))
}

fn commands(rights: Arc<Rights>) -> PersonCommands {
    PersonCommands {
        rights,
        model: "model-1".to_owned(),
        servers: None,
        skills: Arc::new([]),
    }
}

/// A person at the pane of a bob without a process; the store has custom limits.
fn person_before(world: &World, limits: StoreLimits) -> (Person, Arc<dyn TeamStore>, Screen) {
    let store: Arc<dyn TeamStore> = Arc::new(world.memory().with_limits(limits));
    let spawn = world.join("bob", None);
    let context = world.seat_at(store.clone(), spawn);
    let mail = Arc::new(MailHandler::new(context, Arc::new(TeammateMail::default())));
    let screen = Screen::default();
    let reporter = world.reporter_on(spawn, Box::new(screen.clone()));
    let person = Person::new(None, mail, reporter, commands(rights()));
    (person, store, screen)
}

#[test]
fn a_line_that_is_too_long_is_dropped_once_and_blocks_nothing() {
    let world = World::new();
    let limits = StoreLimits {
        max_message_bytes: 10,
        ..StoreLimits::default()
    };
    let (mut person, store, screen) = person_before(&world, limits);
    person.take(line("longer than ten bytes"), None).block_on();
    person.take(line("short"), None).block_on();
    person.post().block_on();
    let inbox = store.team(&team()).inbox(&bob()).block_on().unwrap();
    let texts: Vec<&str> = inbox.entries.iter().map(|entry| &*entry.text).collect();
    assert_eq!(texts, ["short"]);
    assert_eq!(screen.count("dropped"), 1);
}

#[test]
fn a_full_inbox_is_reported_once_keeps_line_order_and_accepts_a_shutdown() {
    let world = World::new();
    let limits = StoreLimits {
        max_unread: 1,
        ..StoreLimits::default()
    };
    let (mut person, store, screen) = person_before(&world, limits);
    for text in ["one", "two", "three"] {
        person.take(line(text), None).block_on();
    }
    person.take(PaneInput::Shutdown, None).block_on();
    person.post().block_on();
    let unread = || {
        let inbox = store.team(&team()).inbox(&bob()).block_on().unwrap();
        let unread: Vec<_> = inbox.unread().cloned().collect();
        unread
    };
    let waiting = unread();
    assert_eq!(waiting.len(), 2, "{waiting:?}");
    assert_eq!(waiting[0].text, "one");
    assert!(waiting[1].text.contains("shutdown_request"));
    assert_eq!(screen.count("not in the inbox yet"), 1);

    let ids: Vec<_> = waiting.iter().filter_map(|e| e.msg_id.clone()).collect();
    store.team(&team()).ack(&bob(), &ids).block_on().unwrap();
    person.post().block_on();
    let waiting = unread();
    assert_eq!(waiting.len(), 1);
    assert_eq!(waiting[0].text, "two");
    assert_eq!(screen.count("not in the inbox yet"), 1, "it is known");
}

#[test]
fn the_mode_is_changed_within_the_ceiling_and_raised_only_where_a_person_alone_can_type() {
    use PermissionMode::{AcceptEdits, BypassPermissions, Default, Plan};
    let world = World::new();
    let spawn = world.join("bob", None);
    let mail = Arc::new(MailHandler::new(
        world.context(spawn),
        Arc::new(TeammateMail::default()),
    ));
    let screen = Screen::default();
    let reporter = world.reporter_on(spawn, Box::new(screen.clone()));
    let rights = rights();
    let mut person = Person::new(None, mail, reporter, commands(Arc::clone(&rights)));
    let mut modes = Vec::new();
    for (mode, may_raise) in [
        (None, false),
        (None, false),
        (None, false),
        (Some(BypassPermissions), false),
        (Some(BypassPermissions), true),
    ] {
        person
            .take(PaneInput::Mode { mode, may_raise }, None)
            .block_on();
        modes.push(rights.mode());
    }
    assert_eq!(
        modes,
        [Plan, Default, AcceptEdits, AcceptEdits, BypassPermissions]
    );
    assert_eq!(screen.count("is above acceptEdits"), 1);
    // Input in a pane cannot relax permissions.
    for (line, mode) in [("/mode plan", Plan), ("/mode default", Plan)] {
        person
            .take(PaneInput::Line(line.to_owned()), None)
            .block_on();
        assert_eq!(rights.mode(), mode, "{line}");
    }
    assert_eq!(screen.count("can only become stricter"), 1);
    person
        .take(PaneInput::Line("/status".to_owned()), None)
        .block_on();
    assert_eq!(screen.count("model model-1"), 1);
    for line in ["/approve p1", "/deny", "/requests"] {
        person
            .take(PaneInput::Line(line.to_owned()), None)
            .block_on();
    }
    assert_eq!(
        screen.count("the number of a choice answers a dialog here"),
        3
    );
}
