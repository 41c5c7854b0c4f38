//! Compactions that fail, and conversations that compaction alone cannot make small enough.

use std::sync::atomic::Ordering;

use swarm_agent::{AgentError, TurnStop};
use swarm_model::ModelRequest;

use crate::setup::on;
use crate::tools::showing;
use crate::valid::assert_valid;
use crate::window::{
    Talk, WINDOW, asks_for_summary, assert_finished, bytes, said, take_turn, tokens,
};

#[tokio::test]
async fn an_unknown_window_is_handled_by_compacting_after_a_rejection() {
    let talk = Talk::new(None);
    let mut session = talk.open();
    for turn in 0..80 {
        assert_finished(&take_turn(&mut session, turn).await);
    }
    assert!(talk.boundaries() >= 1);
    let requests = talk.server.requests();
    let refused = requests
        .iter()
        .filter(|request| tokens(request) > WINDOW)
        .count();
    // The rejected request, and the summary request with the whole conversation.
    assert_eq!(refused, talk.boundaries() * 2);
    for request in &requests {
        assert_valid(&said(request));
    }
}

#[tokio::test]
async fn a_result_as_large_as_the_window_is_cut() {
    let talk = Talk::new(Some(WINDOW));
    let mut session = talk.open();
    assert_finished(&take_turn(&mut session, 0).await);
    let long = "a very long line of a file\n".repeat(1_900);
    for number in 1..4 {
        swarm_os::replace_alone(&talk.server.file(number), long.as_bytes()).unwrap();
        assert_finished(&take_turn(&mut session, number).await);
    }
    assert!(talk.boundaries() >= 1);
    let requests = talk.server.requests();
    for request in &requests {
        assert_valid(&said(request));
    }
}

#[tokio::test]
async fn three_failed_compactions_fail_the_turn_and_the_next_turn_retries() {
    let talk = Talk::new(Some(WINDOW));
    let mut session = talk.open();
    talk.server.is_mute.store(true, Ordering::SeqCst);
    let mut turn = 0;
    let error = loop {
        match take_turn(&mut session, turn).await.end {
            Ok(()) => turn += 1,
            Err(TurnStop::Failed(error)) => break error,
            other => panic!("{other:?}"),
        }
    };
    assert!(matches!(error, AgentError::NotCompacted(_)));
    let words = error.to_string();
    assert!(
        words.contains("3 attempts failed (the response contains no summary)"),
        "{words}"
    );
    assert_eq!(talk.summaries(), 3);
    assert_eq!(talk.boundaries(), 0);
    talk.server.is_mute.store(false, Ordering::SeqCst);
    assert_finished(&session.run_turn(on()).await);
    assert_eq!(talk.boundaries(), 1);
    // The line of the turn's end records the usage of the failed attempts.
    let requests = talk.server.requests();
    let used: u64 = requests.iter().map(|request| tokens(request) + 20).sum();
    assert_eq!(session.totals().usage.total(), used);
}

#[tokio::test]
async fn a_failed_compaction_is_tolerated_while_the_window_has_room_for_a_response() {
    let mut talk = Talk::new(Some(WINDOW));
    talk.setup.limits.max_output_tokens = 2_000;
    talk.setup.limits.compact_at = 50;
    let mut session = talk.open();
    talk.server.is_mute.store(true, Ordering::SeqCst);
    let (mut turn, mut attempts) = (0, vec![]);
    let error = loop {
        let before = talk.summaries();
        match take_turn(&mut session, turn).await.end {
            Ok(()) => turn += 1,
            Err(TurnStop::Failed(error)) => break error,
            other => panic!("{other:?}"),
        }
        attempts.push(talk.summaries() - before);
    };
    assert!(matches!(error, AgentError::NotCompacted(_)));
    let requests = talk.server.requests();
    let mut answered = requests.iter().filter(|request| !asks_for_summary(request));
    assert!(tokens(answered.next_back().unwrap()) > WINDOW * 8 / 10);
    let tried: Vec<usize> = attempts
        .into_iter()
        .skip_while(|tried| *tried == 0)
        .collect();
    assert!(tried.len() > 3, "{tried:?}");
    assert!(
        tried.iter().all(|tried| *tried == 3),
        "once a turn: {tried:?}"
    );
    talk.server.is_mute.store(false, Ordering::SeqCst);
    assert_finished(&session.run_turn(on()).await);
    assert_eq!(talk.boundaries(), 1);
    let requests = talk.server.requests();
    let used: u64 = requests.iter().map(|request| tokens(request) + 20).sum();
    assert_eq!(session.totals().usage.total(), used);
}

#[tokio::test]
async fn the_error_names_a_window_filled_by_prompt_and_tools() {
    let mut talk = Talk::new(Some(WINDOW));
    let mut session = talk.open();
    take_turn(&mut session, 0).await;
    drop(session);
    let head = tokens(&talk.server.requests()[0]);
    talk.window = Some(head * 125 / 100);
    let mut session = talk.open();
    let Err(TurnStop::Failed(error)) = take_turn(&mut session, 1).await.end else {
        panic!("there is no room for a conversation");
    };
    assert!(error.is_out_of_room());
    let words = error.to_string();
    assert!(words.contains("the retained part has about"), "{words}");
    assert_eq!((talk.summaries(), talk.boundaries()), (3, 0));
}

#[tokio::test]
async fn images_beyond_the_request_size_are_removed() {
    const PICTURE: usize = 100_000;
    let talk = Talk::with_tools(vec![showing("Read", PICTURE)], Some(200_000));
    talk.server.most_bytes.store(5 * PICTURE, Ordering::SeqCst);
    let mut session = talk.open();
    for turn in 0..22 {
        assert_finished(&take_turn(&mut session, turn).await);
    }
    assert!(
        talk.boundaries() >= 1,
        "the server rejected the request size"
    );
    let requests = talk.server.requests();
    let last = requests.last().unwrap();
    assert_valid(&said(last));
    let shows = |request: &ModelRequest| bytes(&request.messages) > PICTURE;
    assert!(shows(last), "new pictures are shown");
    let answered = requests.iter().filter(|request| asks_for_summary(request));
    assert!(answered.clone().any(|request| !shows(request)));
}
