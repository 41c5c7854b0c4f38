//! Messages: delivered once, durable first, urgent ones between calls.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::json;
use swarm_agent::{Injected, Session};
use swarm_hooks::{AgentHooks, HookInput, Hooks, HooksParts};
use swarm_permissions::HookSettings;
use swarm_protocol::MessageId;
use tokio_util::sync::CancellationToken;

use crate::model::{call, say};
use crate::tools::{Log, change, echo};
use crate::valid::{assert_alternating, assert_valid, results, texts};
use crate::world::{World, on};

fn id(text: &str) -> MessageId {
    MessageId::new(text)
}

fn letter(name: &str) -> Injected {
    Injected::message(id(name), format!("text of {name}"))
}

#[tokio::test]
async fn urgent_mail_lands_beside_the_results_and_is_reported_once_it_is_on_disk() {
    let world = World::new(vec![change(Log::default()), echo()]);
    world.mail.batches.lock().extend([
        vec![letter("m1")],
        vec![],
        vec![letter("m2"), letter("m3")],
    ]);
    world.model.play([
        call([
            ("a", "Change", json!({"text": "1"})),
            ("b", "Change", json!({"text": "2"})),
            ("c", "Echo", json!({"text": "3"})),
        ]),
        say("done"),
    ]);
    let mut session = world.prompted();
    session.run_turn(on()).await;

    let request = world.model.last_request();
    assert_valid(&request.messages);
    assert_alternating(&request.messages);
    let beside = &request.messages[2];
    assert_eq!(
        results(beside),
        [
            ("a", "changed 1", false),
            ("b", "changed 2", false),
            ("c", "3", false)
        ]
    );
    assert_eq!(texts(beside), ["text of m1", "text of m2", "text of m3"]);

    let delivered = world.mail.delivered.lock().clone();
    let ids: Vec<_> = delivered.iter().map(|(id, _)| id.as_str()).collect();
    assert_eq!(ids, ["m1", "m2", "m3"]);
    for (id, on_disk) in &delivered {
        assert!(on_disk.contains(&format!("text of {id}")));
        assert!(session.has_message(id));
    }
    assert!(delivered[0].1.contains("changed 1"));
    assert!(
        !delivered[0].1.contains("changed 2"),
        "m1 waited for no later call"
    );
}

#[tokio::test]
async fn a_message_is_delivered_once_however_often_it_comes() {
    let world = World::new(vec![echo()]);
    let mut session = world.open();
    let first = session
        .deliver(vec![letter("m1"), letter("m2"), letter("m1")])
        .unwrap();
    assert_eq!(first.added, [id("m1"), id("m2")]);
    assert_eq!(first.known, [id("m1")]);

    // After a restart, and among others, and as urgent mail.
    let mut session = world.open();
    assert!(session.needs_turn());
    assert!(session.has_message(&id("m2")) && !session.has_message(&id("m3")));
    let again = session.deliver(vec![letter("m2"), letter("m3")]).unwrap();
    assert_eq!((again.added, again.known), (vec![id("m3")], vec![id("m2")]));
    let mail = vec![letter("m3"), letter("m4")];
    world.mail.batches.lock().push_back(mail);
    world
        .model
        .play([call([("a", "Echo", json!({"text": "x"}))]), say("done")]);
    session.run_turn(on()).await;

    let all = world.on_disk();
    for name in ["m1", "m2", "m3", "m4"] {
        let text = format!("text of {name}");
        assert_eq!(all.matches(&text).count(), 1, "{name}");
    }
    let acked: Vec<_> = world
        .mail
        .delivered
        .lock()
        .iter()
        .map(|m| m.0.clone())
        .collect();
    assert_eq!(
        acked.len(),
        2,
        "the known one is acknowledged too: {acked:?}"
    );
    assert!(acked.contains(&id("m3")) && acked.contains(&id("m4")));
}

#[test]
fn a_delivery_of_known_messages_alone_asks_for_no_turn() {
    let world = World::new(vec![]);
    let mut session = world.open();
    assert!(!session.needs_turn());
    session.deliver(vec![]).unwrap();
    assert!(!session.needs_turn());
    session.deliver(vec![letter("m1")]).unwrap();
    let lines = world.on_disk().lines().count();
    session.deliver(vec![letter("m1")]).unwrap();
    assert_eq!(world.on_disk().lines().count(), lines);
}

#[tokio::test]
async fn an_empty_message_counts_all_the_same() {
    let world = World::new(vec![]);
    world.model.play([say("what?")]);
    let mut session = world.open();
    session
        .deliver(vec![Injected::message(id("m1"), " \n")])
        .unwrap();
    assert!(session.needs_turn());
    session.run_turn(on()).await;
    assert_valid(&world.model.last_request().messages);
}

#[test]
fn what_cannot_be_written_was_not_delivered() {
    let world = World::new(vec![]);
    let mut session = world.open();
    std::fs::remove_dir_all(world.path().parent().unwrap()).unwrap();
    let error = session.deliver(vec![letter("m1")]).unwrap_err();
    assert!(
        error
            .to_string()
            .contains(&world.path().display().to_string())
    );
    assert!(!session.has_message(&id("m1")));
    assert!(!session.needs_turn());
}

/// A session whose prompts are read by a hook with this command line, which runs in `directory`.
fn judged(world: &World, directory: &tempfile::TempDir, line: &str) -> Session {
    let hook = json!([{"hooks": [{"type": "command", "command": line}]}]);
    let (settings, _) = HookSettings::read(&json!({"UserPromptSubmit": hook}), "a test");
    let hooks = Hooks::new(HooksParts {
        settings,
        env: BTreeMap::from([("PATH".to_owned(), "/usr/bin:/bin".to_owned())]),
        project: directory.path().to_owned(),
        notice: Arc::new(|_| {}),
        services: None,
    });
    let mut parts = world.parts();
    parts.hooks = AgentHooks::new(hooks, HookInput::default);
    Session::open(world.transcript(), parts).unwrap()
}

#[tokio::test]
async fn a_hook_withholds_the_message_that_it_refuses_and_no_other() {
    let (world, directory) = (World::new(vec![]), tempfile::tempdir().unwrap());
    let guard =
        "cat > input; echo >> count; if grep -q secret input; then echo no secrets >&2; exit 2; fi";
    let mut session = judged(&world, &directory, guard);
    let secret = Injected::message(id("m2"), "the secret is 7");
    let submitted = session
        .submit(
            vec![Injected::prompt("a secret of the context")],
            vec![letter("m1"), secret, letter("m3")],
            &on(),
        )
        .await
        .unwrap();
    assert_eq!(submitted.delivery.added, [id("m1"), id("m2"), id("m3")]);
    let withheld: Vec<_> = submitted
        .withheld
        .iter()
        .map(|one| (one.message_ids.clone(), one.why.as_str()))
        .collect();
    assert_eq!(withheld, [(vec![id("m2")], "no secrets")]);
    let on_disk = world.on_disk();
    for there in [
        "a secret of the context",
        "text of m1",
        "text of m3",
        "withheld from you by a hook of the user: no secrets",
    ] {
        assert!(on_disk.contains(there), "{there}: {on_disk}");
    }
    assert!(!on_disk.contains("the secret is 7"), "{on_disk}");
    assert!(session.has_message(&id("m2")), "it is not sent again");
    let count = std::fs::read_to_string(directory.path().join("count")).unwrap();
    assert_eq!(count.lines().count(), 3, "once for each");
}

#[tokio::test]
async fn a_prompt_whose_hook_is_cut_off_does_not_reach_the_model() {
    let (world, directory) = (World::new(vec![]), tempfile::tempdir().unwrap());
    let mut session = judged(&world, &directory, "exit 2");
    let off = CancellationToken::new();
    off.cancel();
    let prompt = Injected::prompt("the secret is 7");
    let submitted = session.submit(vec![], vec![prompt], &off).await.unwrap();
    assert_eq!(submitted.withheld[0].why, "it was interrupted");
    assert!(!world.on_disk().contains("the secret"));
}

#[tokio::test]
async fn a_message_whose_hook_is_cut_off_waits_where_it_is() {
    let (world, directory) = (World::new(vec![]), tempfile::tempdir().unwrap());
    let mut session = judged(&world, &directory, "exit 2");
    let off = CancellationToken::new();
    off.cancel();
    let submitted = session.submit(vec![], vec![letter("m1")], &off).await;
    assert_eq!(submitted.unwrap().delivery.added, []);
    assert!(!session.has_message(&id("m1")) && !session.needs_turn());
}
