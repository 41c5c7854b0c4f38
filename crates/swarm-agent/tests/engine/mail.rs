//! Messages: delivered once, durable before they are acknowledged, urgent ones between calls.

use serde_json::json;
use swarm_agent::{Injected, Session};
use swarm_protocol::MessageId;
use tokio_util::sync::CancellationToken;

use crate::model::{call, say};
use crate::setup::{Setup, hooks_in, on};
use crate::tools::{Log, change, echo};
use crate::valid::{assert_alternating, assert_valid, results, texts};

fn id(text: &str) -> MessageId {
    MessageId::new(text)
}

fn message(name: &str) -> Injected {
    Injected::message(id(name), format!("text of {name}"))
}

#[tokio::test]
async fn urgent_mail_follows_the_results_and_is_acknowledged_once_on_disk() {
    let setup = Setup::new(vec![change(Log::default()), echo()]);
    setup.mail.batches.lock().extend([
        vec![message("m1")],
        vec![],
        vec![message("m2"), message("m3")],
    ]);
    setup.model.play([
        call([
            ("a", "Change", json!({"text": "1"})),
            ("b", "Change", json!({"text": "2"})),
            ("c", "Echo", json!({"text": "3"})),
        ]),
        say("done"),
    ]);
    let mut session = setup.prompted();
    session.run_turn(on()).await;

    let request = setup.model.last_request();
    assert_valid(&request.messages);
    assert_alternating(&request.messages);
    let results_message = &request.messages[2];
    assert_eq!(
        results(results_message),
        [
            ("a", "changed 1", false),
            ("b", "changed 2", false),
            ("c", "3", false)
        ]
    );
    assert_eq!(
        texts(results_message),
        ["text of m1", "text of m2", "text of m3"]
    );

    let delivered = setup.mail.delivered.lock().clone();
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
async fn a_repeated_message_is_delivered_once() {
    let setup = Setup::new(vec![echo()]);
    let mut session = setup.open();
    let first = session
        .deliver(vec![message("m1"), message("m2"), message("m1")])
        .unwrap();
    assert_eq!(first.added, [id("m1"), id("m2")]);
    assert_eq!(first.known, [id("m1")]);

    // Also after a restart, among other messages, and as urgent mail.
    let mut session = setup.open();
    assert!(session.needs_turn());
    assert!(session.has_message(&id("m2")) && !session.has_message(&id("m3")));
    let again = session.deliver(vec![message("m2"), message("m3")]).unwrap();
    assert_eq!((again.added, again.known), (vec![id("m3")], vec![id("m2")]));
    let mail = vec![message("m3"), message("m4")];
    setup.mail.batches.lock().push_back(mail);
    setup
        .model
        .play([call([("a", "Echo", json!({"text": "x"}))]), say("done")]);
    session.run_turn(on()).await;

    let all = setup.on_disk();
    for name in ["m1", "m2", "m3", "m4"] {
        let text = format!("text of {name}");
        assert_eq!(all.matches(&text).count(), 1, "{name}");
    }
    let acked: Vec<_> = setup
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
fn known_messages_need_no_turn() {
    let setup = Setup::new(vec![]);
    let mut session = setup.open();
    assert!(!session.needs_turn());
    session.deliver(vec![]).unwrap();
    assert!(!session.needs_turn());
    session.deliver(vec![message("m1")]).unwrap();
    let lines = setup.on_disk().lines().count();
    session.deliver(vec![message("m1")]).unwrap();
    assert_eq!(setup.on_disk().lines().count(), lines);
}

#[tokio::test]
async fn an_empty_message_needs_a_turn() {
    let setup = Setup::new(vec![]);
    setup.model.play([say("what?")]);
    let mut session = setup.open();
    session
        .deliver(vec![Injected::message(id("m1"), " \n")])
        .unwrap();
    assert!(session.needs_turn());
    session.run_turn(on()).await;
    assert_valid(&setup.model.last_request().messages);
}

#[test]
fn a_message_that_cannot_be_written_is_not_delivered() {
    let setup = Setup::new(vec![]);
    let mut session = setup.open();
    std::fs::remove_dir_all(setup.path().parent().unwrap()).unwrap();
    let error = session.deliver(vec![message("m1")]).unwrap_err();
    assert!(
        error
            .to_string()
            .contains(&setup.path().display().to_string())
    );
    assert!(!session.has_message(&id("m1")));
    assert!(!session.needs_turn());
}

/// Returns a session with a `UserPromptSubmit` hook that runs this command line in `directory`.
fn with_prompt_hook(setup: &Setup, directory: &tempfile::TempDir, line: &str) -> Session {
    let hook = json!([{"hooks": [{"type": "command", "command": line}]}]);
    let mut parts = setup.parts();
    parts.hooks = hooks_in(directory.path(), &json!({"UserPromptSubmit": hook}));
    Session::open(setup.transcript(), parts).unwrap()
}

#[tokio::test]
async fn a_hook_withholds_only_the_message_that_it_blocks() {
    let (setup, directory) = (Setup::new(vec![]), tempfile::tempdir().unwrap());
    let guard =
        "cat > input; echo >> count; if grep -q secret input; then echo no secrets >&2; exit 2; fi";
    let mut session = with_prompt_hook(&setup, &directory, guard);
    let secret = Injected::message(id("m2"), "the secret is 7");
    let submitted = session
        .submit(
            vec![Injected::prompt("a secret of the context")],
            vec![message("m1"), secret, message("m3")],
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
    let on_disk = setup.on_disk();
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
async fn a_prompt_is_withheld_if_its_hook_is_interrupted() {
    let (setup, directory) = (Setup::new(vec![]), tempfile::tempdir().unwrap());
    let mut session = with_prompt_hook(&setup, &directory, "exit 2");
    let off = CancellationToken::new();
    off.cancel();
    let prompt = Injected::prompt("the secret is 7");
    let submitted = session.submit(vec![], vec![prompt], &off).await.unwrap();
    assert_eq!(submitted.withheld[0].why, "it was interrupted");
    assert!(!setup.on_disk().contains("the secret"));
}

#[tokio::test]
async fn a_message_stays_undelivered_if_its_hook_is_interrupted() {
    let (setup, directory) = (Setup::new(vec![]), tempfile::tempdir().unwrap());
    let mut session = with_prompt_hook(&setup, &directory, "exit 2");
    let off = CancellationToken::new();
    off.cancel();
    let submitted = session.submit(vec![], vec![message("m1")], &off).await;
    assert_eq!(submitted.unwrap().delivery.added, []);
    assert!(!session.has_message(&id("m1")) && !session.needs_turn());
}
