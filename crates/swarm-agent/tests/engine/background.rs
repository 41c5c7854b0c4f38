//! Background sub-agents.

use std::time::Duration;

use serde_json::{Value, json};
use swarm_agent::{Injected, TurnStop};
use swarm_permissions::{AgentDefinition, AgentLimits};
use swarm_protocol::AgentEvent;
use swarm_tools::builtin;
use tokio_util::sync::CancellationToken;

use crate::family::{Family, Line, calls, definition, says};
use crate::setup::Setup;
use crate::sub_agents::agent;

fn in_background() -> (&'static str, Value) {
    agent("slow", &json!({"run_in_background": true}))
}

fn family_with(limits: AgentLimits) -> Family {
    Family::of(Setup::new(builtin()), vec![definition("slow")], limits)
}

/// A parent whose sub-agent works in the background and waits for the gate.
async fn launched() -> Family {
    let mut family = family_with(AgentLimits::default());
    family.plays("bob", [calls([in_background()]), says("done")]);
    let script = [Line::Gated("late news".into()), says("more")];
    family.plays("bob/slow", script);
    family.turn("go").await;
    family.cast.at_gate(1).await;
    family
}

async fn call(family: &Family, tool: &str, input: Value) -> (String, bool) {
    let context = family.session.parts().tool_context.clone();
    let output = family.tool(tool).call(input, &context).await;
    (output.content, output.is_error)
}

fn outcomes(family: &Family) -> Vec<String> {
    let events = family.setup.watcher.events().into_iter();
    let ended = events.filter_map(|event| match event {
        AgentEvent::SubAgentEnded { outcome, .. } => Some(outcome),
        _ => None,
    });
    ended.collect()
}

#[tokio::test]
async fn the_parent_continues_and_is_notified_of_the_end_once() {
    let mut family = launched().await;
    let (result, is_error) = family.results().remove(0);
    assert!(!is_error && result.contains("name: slow-1"), "{result}");
    assert!(result.contains("output_file: "), "{result}");
    assert_eq!(family.agents.background(), ["slow-1"]);
    assert!(!family.session.needs_turn());
    family.cast.open();
    family.hear().await;
    assert!(family.session.needs_turn() && !family.agents.is_busy());
    let told = family.setup.on_disk();
    for part in [
        "<task-notification>",
        "<task-id>a",
        "<tool-use-id>toolu_1</tool-use-id>",
        "<status>completed</status>",
        r#"Agent \"look\" completed"#,
        "<result>late news</result>",
        "not input from a person",
    ] {
        assert!(told.contains(part), "{part}: {told}");
    }
    let meta: Value = serde_json::from_str(&family.file(".meta.json")).unwrap();
    assert_eq!(meta["swarm"]["told"], true);
    assert!(!family.agents.deliver_to(&mut family.session).unwrap());
}

#[tokio::test]
async fn a_background_sub_agent_survives_the_interrupt_of_its_parent() {
    let mut family = family_with(AgentLimits::default());
    let script = [calls([in_background()]), Line::Gated("never".into())];
    family.plays("bob", script);
    family.plays("bob/slow", [Line::Gated("late".into())]);
    let cast = family.cast.clone();
    let cancel = CancellationToken::new();
    family
        .session
        .deliver(vec![Injected::prompt("go")])
        .unwrap();
    let (outcome, ()) = tokio::join!(family.session.run_turn(cancel.clone()), async {
        cast.at_gate(2).await;
        cancel.cancel();
    });
    assert!(matches!(outcome.end, Err(TurnStop::Interrupted)));
    assert!(family.agents.is_busy());
    family.cast.open();
    family.hear().await;
    assert_eq!(outcomes(&family), ["completed"]);
}

#[tokio::test]
async fn a_definition_can_require_background_runs() {
    let slow = AgentDefinition {
        background: true,
        ..definition("slow")
    };
    let mut family = Family::of(Setup::new(vec![]), vec![slow], AgentLimits::default());
    let script = [calls([agent("slow", &json!({}))]), says("done")];
    family.plays("bob", script);
    family.plays("bob/slow", [Line::Gated("late".into())]);
    family.turn("go").await;
    family.cast.open();
    // The parent has no tool that reads files, so the result names no file.
    let (result, _) = family.results().remove(0);
    assert!(result.starts_with("Async agent launched"), "{result}");
    assert!(!result.contains("output_file"), "{result}");
    family.hear().await;
}

#[tokio::test]
async fn a_message_reaches_a_running_sub_agent_and_resumes_an_ended_one() {
    let mut family = launched().await;
    let queued = family.send("slow-1", "look in b too").await;
    let queued = queued.unwrap().unwrap();
    assert!(queued.contains("queued for slow-1"), "{queued}");
    family.cast.open();
    family.hear().await;
    let requests = family.cast.asked_by("bob/slow");
    assert_eq!(requests.len(), 2);
    assert!(format!("{:?}", requests[1].messages).contains("look in b too"));
    let id = family.ids().remove(0);
    let resumed = family.send(&id, "and in c").await.unwrap().unwrap();
    assert!(resumed.contains("had ended and was resumed"), "{resumed}");
    family.hear().await;
    let last = family.cast.asked_by("bob/slow").pop().unwrap();
    let said = format!("{:?}", last.messages);
    for part in ["Look for it.", "late news", "and in c"] {
        assert!(said.contains(part), "{part}: {said}");
    }
    assert!(family.send("alice", "hello").await.is_none());
    let told = family.setup.on_disk();
    assert_eq!(told.matches("<task-notification>").count(), 2);
}

#[tokio::test]
async fn a_named_sub_agent_receives_messages_by_name() {
    let mut family = family_with(AgentLimits::default());
    let named = |name: &str| agent("slow", &json!({"run_in_background": true, "name": name}));
    let script = [
        calls([named("scout")]),
        calls([named("Scout")]),
        calls([named("a b")]),
        says("done"),
    ];
    family.plays("bob", script);
    let script = [Line::Gated("late news".into()), says("more")];
    family.plays("bob/slow", script);
    family.turn("go").await;
    family.cast.at_gate(1).await;
    assert_eq!(family.agents.background(), ["scout"]);
    let results = family.results();
    assert!(
        !results[0].1 && results[0].0.contains("name: scout"),
        "{results:?}"
    );
    assert!(
        results[1].1 && results[1].0.contains("is running"),
        "{results:?}"
    );
    assert!(
        results[2].1 && results[2].0.contains("was not called"),
        "{results:?}"
    );
    family.cast.open();
    family.hear().await;
    let resumed = family.send("scout", "and in b").await.unwrap().unwrap();
    assert!(
        resumed.contains("scout had ended and was resumed"),
        "{resumed}"
    );
    family.hear().await;
    assert_eq!(outcomes(&family), ["completed", "completed"]);
}

#[tokio::test]
async fn a_stopped_sub_agent_is_resumed_by_a_message() {
    let mut family = launched().await;
    let stop = json!({"task_id": "slow-1"});
    let (result, is_error) = call(&family, "TaskStop", stop.clone()).await;
    assert!(!is_error, "{result}");
    assert!(result.contains("Stopped slow-1 (look)"), "{result}");
    assert_eq!(outcomes(&family), ["killed"]);
    assert!(!family.agents.is_busy());
    let heard = family.agents.deliver_to(&mut family.session).unwrap();
    assert!(!heard, "no notification for the agent that stopped it");
    let (again, is_error) = call(&family, "TaskStop", stop).await;
    assert!(is_error && again.contains("is not running"), "{again}");
    let older = json!({"shell_id": "slow-1"});
    let line = family.tool("TaskStop").one_line(&older);
    assert_eq!(line, "TaskStop slow-1");
    let (older, is_error) = call(&family, "TaskStop", older).await;
    assert!(
        is_error && older.contains("slow-1 is not running"),
        "{older}"
    );
    assert!(again.contains("No sub-agent is running."), "{again}");
    let resumed = family.send("slow-1", "go on").await.unwrap().unwrap();
    assert!(resumed.contains("was stopped and was resumed"), "{resumed}");
    family.hear().await;
    assert_eq!(outcomes(&family), ["killed", "completed"]);
}

#[tokio::test(start_paused = true)]
async fn a_paused_sub_agent_sends_no_requests_and_does_not_count_as_stalled() {
    let limits = AgentLimits {
        stall_s: 5,
        ..AgentLimits::default()
    };
    let mut family = family_with(limits);
    let inner = agent("slow", &json!({}));
    family.plays("bob", [calls([in_background()]), says("done")]);
    family.plays("bob/slow", [calls([inner]), says("late news")]);
    family.plays("bob/slow/slow", [Line::Gated("part".into())]);
    family.turn("go").await;
    family.cast.at_gate(1).await;
    family.agents.hold(true);
    family.cast.open();
    tokio::time::sleep(Duration::from_mins(10)).await;
    assert_eq!(family.cast.asked_by("bob/slow").len(), 1);
    assert!(family.agents.is_busy());
    family.agents.hold(false);
    family.hear().await;
    assert_eq!(outcomes(&family), ["completed", "completed"]);
}

#[tokio::test(start_paused = true)]
async fn task_output_waits_at_most_its_timeout() {
    let mut family = launched().await;
    let now = json!({"task_id": "slow-1", "block": false});
    let (now, _) = call(&family, "TaskOutput", now).await;
    assert!(now.contains("<retrieval_status>not_ready<"), "{now}");
    let late = json!({"task_id": "slow-1", "timeout": 50});
    let (late, _) = call(&family, "TaskOutput", late).await;
    assert!(late.contains("<retrieval_status>timeout<"), "{late}");
    let (unknown, is_error) = call(&family, "TaskOutput", json!({"task_id": "a1"})).await;
    assert!(
        is_error && unknown.contains("Running: slow-1 (a"),
        "{unknown}"
    );
    family.cast.open();
    let (done, _) = call(&family, "TaskOutput", json!({"task_id": "slow-1"})).await;
    assert!(done.contains("<retrieval_status>success<"), "{done}");
    assert!(done.contains("late news"), "{done}");
    family.hear().await;
    let told = family.setup.on_disk();
    assert!(told.contains("<status>completed</status>"), "{told}");
    assert_eq!(
        told.matches("late news").count(),
        0,
        "the result is not repeated"
    );
}

#[tokio::test(start_paused = true)]
async fn a_long_running_sub_agent_moves_to_the_background() {
    let mut family = family_with(AgentLimits {
        background_after_s: 120,
        ..AgentLimits::default()
    });
    let script = [calls([agent("slow", &json!({}))]), says("done")];
    family.plays("bob", script);
    family.plays("bob/slow", [Line::Gated("late".into())]);
    let outcome = family.turn("go").await;
    assert_eq!(outcome.text, "done");
    assert!(family.results()[0].0.starts_with("Async agent launched"));
    family.cast.open();
    family.hear().await;
    assert_eq!(outcomes(&family), ["completed"]);
}

#[tokio::test]
async fn a_person_can_move_a_sub_agent_to_the_background() {
    let mut family = family_with(AgentLimits::default());
    let script = [calls([agent("slow", &json!({}))]), says("done")];
    family.plays("bob", script);
    family.plays("bob/slow", [Line::Gated("late".into())]);
    let (cast, agents) = (family.cast.clone(), family.agents.clone());
    let (outcome, moved) = tokio::join!(family.turn("go"), async {
        cast.at_gate(1).await;
        agents.send_to_background(None)
    });
    assert_eq!((outcome.text.as_str(), moved), ("done", 1));
    family.cast.open();
    family.hear().await;
}

#[tokio::test(start_paused = true)]
async fn a_stalled_sub_agent_fails() {
    let mut family = family_with(AgentLimits {
        stall_s: 600,
        ..AgentLimits::default()
    });
    family.plays("bob", [calls([in_background()]), says("done")]);
    family.plays("bob/slow", [Line::Gated("never".into())]);
    family.turn("go").await;
    let heard = tokio::time::timeout(Duration::from_secs(700), family.hear());
    heard.await.unwrap();
    let told = family.setup.on_disk();
    assert!(told.contains("silent for longer than the stall limit"));
    assert_eq!(outcomes(&family), ["failed"]);
}

#[tokio::test]
async fn the_next_process_delivers_a_missing_notification_once() {
    let family = launched().await;
    family.cast.open();
    while !family.agents.background().is_empty() {
        family.agents.changed().await;
    }
    // The sub-agent has ended, but the process terminates before it notifies the parent.
    let mut next = family.reborn(vec![definition("slow")]);
    next.hear().await;
    assert!(next.setup.on_disk().contains("<result>late news</result>"));
    let mut third = next.reborn(vec![definition("slow")]);
    assert!(!third.agents.deliver_to(&mut third.session).unwrap());
    let told = third.setup.on_disk();
    assert_eq!(told.matches("<task-notification>").count(), 1);
    let resumed = third.send("slow-1", "go on").await.unwrap().unwrap();
    assert!(resumed.contains("was resumed"), "{resumed}");
    third.hear().await;
}

#[tokio::test]
async fn a_sub_agent_of_a_terminated_process_is_reported_and_can_be_resumed() {
    let family = launched().await;
    family.agents.shut_down(Duration::from_secs(10)).await;
    let mut next = family.reborn(vec![definition("slow")]);
    next.hear().await;
    assert!(next.setup.on_disk().contains("its process terminated"));
    assert!(next.send("slow-1", "go on").await.unwrap().is_ok());
    next.hear().await;
    let gone = next.reborn(vec![]);
    let refused = gone.send("slow-1", "go on").await.unwrap().unwrap_err();
    assert!(
        refused.contains("definition `slow` no longer exists"),
        "{refused}"
    );
}
