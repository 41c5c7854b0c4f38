//! Messages in the transcript that are not on disk yet.

use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::{Value, json};
use swarm_agent::{AgentError, Injected, Session, TurnStop};
use swarm_os::{OsError, PendingSync};
use swarm_protocol::MessageId;

use crate::model::{call, say};
use crate::setup::{Setup, on};
use crate::tools::{Log, change};

/// Timeout of a wait for an expected event.
const LONGEST: Duration = Duration::from_mins(1);

fn new_message() -> Vec<Injected> {
    vec![Injected::message(MessageId::new("m1"), "look at the build")]
}

/// A disk that fails the first `times` syncs and then works.
fn failing(times: usize) -> impl Fn(PendingSync) -> Result<(), OsError> + Send + Sync {
    let asked = AtomicUsize::new(0);
    move |pending| {
        if asked.fetch_add(1, Ordering::SeqCst) < times {
            return Err(OsError::io(
                Path::new("/transcript"),
                "sync",
                io::Error::from_raw_os_error(5),
            ));
        }
        pending.sync()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn d2_the_request_overlaps_the_sync_but_calls_wait_for_it() {
    let log = Log::default();
    let setup = Setup::new(vec![change(log.clone())]);
    setup
        .model
        .play([call([("a", "Change", json!({"text": "1"}))]), say("done")]);
    let ((waits, waited_for), (open, gate)) = (channel(), channel::<()>());
    let (waits, gate) = (Mutex::new(waits), Mutex::new(gate));
    let transcript = setup.transcript().with_sync(move |pending| {
        waits.lock().send(()).ok();
        // The sender is dropped after the first sync; later ones do not block.
        gate.lock().recv().ok();
        pending.sync()
    });
    let mut session = Session::open(transcript, setup.parts()).unwrap();
    session.submit(vec![], new_message(), &on()).await.unwrap();
    assert!(session.sync_handle().is_some() && setup.on_disk().contains("look at the build"));

    let turn = tokio::spawn(async move {
        let outcome = session.run_turn(on()).await;
        (session, outcome)
    });
    waited_for
        .recv_timeout(LONGEST)
        .expect("a sync has started");
    assert_eq!(
        setup.model.requests().len(),
        1,
        "the request did not wait for the disk"
    );
    assert!(log.lock().is_empty() && !setup.on_disk().contains("tool_use"));

    drop(open);
    let (session, outcome) = turn.await.unwrap();
    assert!(outcome.is_finished(), "{outcome:?}");
    assert!(!log.lock().is_empty());
    assert!(session.sync_handle().is_none());
}

#[tokio::test]
async fn d2_a_message_that_was_not_synced_is_not_delivered_and_can_be_sent_again() {
    let setup = Setup::new(vec![]);
    setup.model.play([say("lost"), say("done")]);
    let transcript = setup.transcript().with_sync(failing(1));
    let mut session = Session::open(transcript, setup.parts()).unwrap();
    session.submit(vec![], new_message(), &on()).await.unwrap();
    let sync_handle = session.sync_handle().expect("something to wait for");
    sync_handle.wait().unwrap_err();
    let outcome = session.run_turn(on()).await;
    assert!(
        matches!(
            &outcome.end,
            Err(TurnStop::Failed(AgentError::Transcript { .. }))
        ),
        "{outcome:?}"
    );
    assert!(!session.has_message(&MessageId::new("m1")));

    let again = session.submit(vec![], new_message(), &on()).await.unwrap();
    assert_eq!(again.delivery.added, [MessageId::new("m1")]);
    let outcome = session.run_turn(on()).await;
    assert!(outcome.is_finished(), "{outcome:?}");
    drop(session);
    let on_disk = setup.on_disk();
    let lost: Value = serde_json::from_str(on_disk.lines().next().unwrap()).unwrap();
    let is_after_it = format!("\"parentUuid\":{}", lost["uuid"]);
    assert!(!on_disk.contains(&is_after_it), "{on_disk}");
    let mut session = setup.open();
    assert!(session.has_message(&MessageId::new("m1")));
    session.flush().unwrap();
}

#[tokio::test]
async fn after_a_disk_failure_writes_are_synced_first() {
    let setup = Setup::new(vec![]);
    setup.model.play([say("lost"), say("done")]);
    // The syncs of the message, the end of its turn, and the message again.
    let transcript = setup.transcript().with_sync(failing(3));
    let mut session = Session::open(transcript, setup.parts()).unwrap();
    session.submit(vec![], new_message(), &on()).await.unwrap();
    session.run_turn(on()).await;
    session
        .submit(vec![], new_message(), &on())
        .await
        .unwrap_err();
    assert!(!session.has_message(&MessageId::new("m1")) && session.sync_handle().is_none());

    session.submit(vec![], new_message(), &on()).await.unwrap();
    assert!(session.sync_handle().is_none(), "synced immediately");
    // The last write has succeeded, so the session no longer waits.
    let next = vec![Injected::message(MessageId::new("m2"), "and now?")];
    session.submit(vec![], next, &on()).await.unwrap();
    assert!(session.sync_handle().is_some());
}

#[tokio::test]
async fn d2_lines_left_by_a_killed_process_are_synced() {
    let setup = Setup::new(vec![]);
    let mut session = setup.open();
    assert!(session.sync_handle().is_none(), "nothing there yet");
    session.submit(vec![], new_message(), &on()).await.unwrap();
    // Dropped without waiting for the disk, as if killed.
    drop(session);
    let mut session = setup.open();
    assert!(session.has_message(&MessageId::new("m1")) && session.sync_handle().is_some());
    session.flush().unwrap();
    assert!(session.sync_handle().is_none());
}
