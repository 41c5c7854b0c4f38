//! Questions between teammates.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use swarm_protocol::MemberName;
use swarm_store::{BlockOn as _, Draft};
use swarm_team::{MemberContext, PendingShutdown, SendMessageTool};

use crate::world::{World, call, name};

/// A member that expects answers within a time.
fn member(world: &World, who: &str, timeout: Duration) -> Arc<MemberContext> {
    let context = world.seat_of_new(who).context;
    context.expect_answers_within(Some(timeout));
    context
}

async fn say(from: &Arc<MemberContext>, to: &str, text: &str) {
    let pending = Arc::<PendingShutdown>::default();
    let tool = SendMessageTool::for_teammate(Arc::clone(from), pending);
    let sent = call(&tool, json!({"to": to, "message": text})).await;
    assert!(!sent.is_error, "{}", sent.content);
}

/// The member reads its mail.
fn reads(world: &World, context: &MemberContext) {
    let mail = world.mail(context.name.as_str());
    context.has_read(&mail);
    let ids: Vec<_> = mail.iter().filter_map(|one| one.id().cloned()).collect();
    world.files().ack(&context.name, &ids).block_on().unwrap();
}

async fn names(context: &MemberContext) -> Vec<MemberName> {
    context.unanswered().await
}

#[tokio::test(start_paused = true)]
async fn a_question_without_an_answer_in_time_is_told_to_the_lead() {
    let world = World::new();
    let hour = Duration::from_hours(1);
    let (alice, _bob) = (member(&world, "alice", hour), world.join("bob"));
    say(&alice, "bob", "Which port?\nI need it for the test.").await;
    tokio::time::sleep(Duration::from_mins(59)).await;
    assert!(world.unread("team-lead").is_empty());
    tokio::time::sleep(Duration::from_mins(2)).await;
    let told = loop {
        let told = world.read("team-lead");
        if !told.is_empty() {
            break told.concat();
        }
        tokio::task::yield_now().await;
    };
    let text = "alice asked bob a question 60 min ago and has no answer: \"Which port?\"";
    assert!(told.contains(text), "{told}");
}

#[tokio::test(start_paused = true)]
async fn an_answer_a_statement_and_a_question_to_the_lead_are_not_escalated() {
    let world = World::new();
    let minute = Duration::from_mins(1);
    let alice = member(&world, "alice", minute);
    let bob = member(&world, "bob", minute);
    say(&alice, "bob", "Which port?").await;
    say(&bob, "alice", "8080.").await;
    reads(&world, &alice);
    say(&alice, "bob", "Thanks.").await;
    say(&alice, "bob", "Which host?").await;
    // It stays unread, as during a long turn.
    say(&bob, "alice", "localhost.").await;
    say(&alice, "team-lead", "Shall I go on?").await;
    world.read("team-lead");
    tokio::time::sleep(minute * 3).await;
    // Sent after any message about a question would have been.
    let last = Draft::new("bob", "last");
    world
        .files()
        .send(&name("team-lead"), last)
        .block_on()
        .unwrap();
    let texts = world.unread("team-lead");
    let texts: Vec<_> = texts.iter().map(|entry| entry.text.as_str()).collect();
    assert_eq!(texts, ["Shall I go on?", "last"]);
}

#[tokio::test]
async fn questions_of_peers_are_open_until_they_are_answered() {
    let world = World::new();
    let alice = member(&world, "alice", Duration::from_mins(1));
    let bob = member(&world, "bob", Duration::from_mins(1));
    say(&alice, "bob", "The port is 80.").await;
    reads(&world, &bob);
    assert_eq!(names(&bob).await, []);
    say(&alice, "bob", "Is port 80 fine?").await;
    reads(&world, &bob);
    assert_eq!(names(&bob).await, [name("alice")]);
    say(&bob, "team-lead", "Working.").await;
    assert_eq!(names(&bob).await, [name("alice")]);
    say(&bob, "alice", "Yes.").await;
    assert_eq!(names(&bob).await, []);
    // The lead gets the result of the turn.
    let question = Draft::new("team-lead", "Done?");
    world
        .files()
        .send(&name("bob"), question)
        .block_on()
        .unwrap();
    reads(&world, &bob);
    assert_eq!(names(&bob).await, []);
}

#[tokio::test]
async fn a_broadcast_answers_every_receiver_and_a_question_is_shown_once() {
    let world = World::new();
    let alice = member(&world, "alice", Duration::from_mins(1));
    let bob = member(&world, "bob", Duration::from_mins(1));
    let question = "Which port?".to_owned();
    say(&alice, "bob", &question).await;
    reads(&world, &bob);
    let shown = bob.take_unanswered().await;
    assert_eq!(shown, [(name("alice"), question.clone())]);
    assert!(bob.take_unanswered().await.is_empty());
    assert_eq!(names(&bob).await, [name("alice")]);
    say(&alice, "bob", &question).await;
    reads(&world, &bob);
    let shown = bob.take_unanswered().await;
    assert_eq!(shown, [(name("alice"), question)]);
    say(&bob, "*", "The port is 80.").await;
    assert_eq!(names(&bob).await, []);
}

#[tokio::test]
async fn a_member_that_left_and_another_agent_program_leave_no_open_questions() {
    let world = World::new();
    let alice = member(&world, "alice", Duration::from_mins(1));
    let bob = member(&world, "bob", Duration::from_mins(1));
    let carol = member(&world, "carol", Duration::from_mins(1));
    carol.use_agent_program();
    for (to, context) in [("bob", &bob), ("carol", &carol)] {
        say(&alice, to, "Which port?").await;
        reads(&world, context);
    }
    assert_eq!(names(&carol).await, []);
    assert_eq!(names(&bob).await, [name("alice")]);
    let removed = world.files().remove_member(&name("alice"), None).await;
    assert!(removed.unwrap().is_some());
    assert_eq!(names(&bob).await, []);
}
