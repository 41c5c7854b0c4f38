//! Transcripts of processes that were killed at any byte.

use std::path::Path;
use std::sync::Arc;

use proptest::prelude::*;
use serde_json::json;
use swarm_agent::{Injected, Session, TranscriptFile, transcript_path};
use swarm_model::{ContentBlock, StopReason};
use swarm_protocol::{MessageId, SessionId, SystemClock};

use crate::model::{call, reply, say, tool_use};
use crate::setup::{Setup, on};
use crate::tools::{Log, change, echo};
use crate::valid::{assert_alternating, assert_valid, results};

/// Returns a transcript with all kinds of content. First turn: single and parallel calls, urgent
/// mail, thinking, and a tool id that is used twice. Second turn: an empty response. Third turn: a
/// plain response.
async fn varied_transcript(turns: usize) -> Vec<u8> {
    let setup = Setup::new(vec![change(Log::default()), echo()]);
    let thinking = ContentBlock::Thinking {
        thinking: "hm".into(),
        signature: "c2ln".into(),
    };
    let first = vec![
        thinking,
        ContentBlock::text("I begin — “so”."),
        tool_use("a", "Change", json!({"text": "1"})),
        tool_use("b", "Echo", json!({"text": "2"})),
        tool_use("c", "Echo", json!({"text": "3"})),
        tool_use("d", "Change", json!({"text": "4"})),
    ];
    setup.model.play([
        reply(first, StopReason::ToolUse),
        call([("a", "Echo", json!({"text": "again"}))]),
        say("one"),
        reply(vec![], StopReason::EndTurn),
        say("three"),
    ]);
    let urgent = Injected::message(MessageId::new("urgent"), "urgent text");
    setup.mail.batches.lock().push_back(vec![urgent]);
    let mut session = setup.open();
    for turn in 0..turns {
        let id = MessageId::new(format!("m{turn}"));
        let message = Injected::message(id, format!("turn {turn}"));
        session.deliver(vec![message]).unwrap();
        session.run_turn(on()).await;
    }
    setup.on_disk().into_bytes()
}

/// Writes a transcript, opens it, runs a turn, and returns the messages of its request.
async fn reopened(setup: &Setup, bytes: &[u8]) -> (Session, Vec<swarm_model::Message>) {
    swarm_os::ensure_private_dir(setup.path().parent().unwrap()).unwrap();
    swarm_os::replace_alone(&setup.path(), bytes).unwrap();
    let mut session = setup.open();
    let needed = session.needs_turn();
    if !needed {
        session
            .deliver(vec![Injected::prompt("are you there?")])
            .unwrap();
    }
    setup.model.play([say("here")]);
    session.run_turn(on()).await;
    assert!(!session.needs_turn());
    let request = setup.model.last_request();
    (session, request.messages)
}

#[tokio::test]
async fn a_transcript_cut_at_any_byte_opens_and_is_valid() {
    let whole = varied_transcript(1).await;
    for cut in 0..=whole.len() {
        let setup = Setup::new(vec![echo()]);
        let (session, messages) = reopened(&setup, &whole[..cut]).await;
        assert_valid(&messages);
        assert_alternating(&messages);
        // Complete lines on disk are kept: no acknowledged message is lost.
        let kept = &whole[..cut];
        let lines = kept.split_inclusive(|byte| *byte == b'\n');
        for line in lines.filter(|line| line.ends_with(b"\n")) {
            let line: serde_json::Value = serde_json::from_slice(line).unwrap();
            for id in line["swarm"]["messageIds"].as_array().into_iter().flatten() {
                let id = MessageId::new(id.as_str().unwrap());
                assert!(session.has_message(&id), "{id} is lost at {cut}");
            }
        }
        // A second opening has nothing to repair.
        let before = setup.on_disk();
        assert!(setup.transcript().broken().is_empty());
        assert_eq!(setup.on_disk(), before);
    }
}

#[tokio::test]
async fn a_call_interrupted_by_a_crash_gets_an_error_result_and_the_turn_continues() {
    let whole = varied_transcript(3).await;
    let lines: Vec<&[u8]> = whole.split_inclusive(|byte| *byte == b'\n').collect();
    // The prompt, the response with four calls, the result of the first.
    let setup = Setup::new(vec![echo()]);
    let (session, messages) = reopened(&setup, &lines[..3].concat()).await;
    let got = results(&messages[2]);
    assert_eq!(got[0], ("a", "changed 1", false));
    for (result, id) in got[1..].iter().zip(["b", "c", "d"]) {
        assert_eq!(result.0, id);
        assert!(result.1.contains("may have run") && result.2);
    }
    assert!(setup.on_disk().contains("\"repaired\":true"));
    assert_eq!(session.totals().requests, 2);
}

#[tokio::test]
async fn only_an_unfinished_turn_needs_to_be_continued() {
    let whole = varied_transcript(3).await;
    let lines: Vec<&[u8]> = whole.split_inclusive(|byte| *byte == b'\n').collect();
    for count in 0..=lines.len() {
        let setup = Setup::new(vec![echo()]);
        swarm_os::ensure_private_dir(setup.path().parent().unwrap()).unwrap();
        swarm_os::replace_alone(&setup.path(), &lines[..count].concat()).unwrap();
        let answered = match count.checked_sub(1) {
            None => true,
            Some(last) => {
                let last: serde_json::Value = serde_json::from_slice(lines[last]).unwrap();
                last["message"]["stop_reason"] == "end_turn"
            }
        };
        assert_eq!(setup.open().needs_turn(), !answered, "after {count} lines");
    }
}

#[derive(Debug, Clone)]
enum Damage {
    Remove(usize),
    Break(usize),
    Swap(usize, usize),
    Double(usize),
}

fn damage() -> impl Strategy<Value = Damage> {
    let line = 0..30_usize;
    prop_oneof![
        line.clone().prop_map(Damage::Remove),
        line.clone().prop_map(Damage::Break),
        (line.clone(), line.clone()).prop_map(|(a, b)| Damage::Swap(a, b)),
        line.prop_map(Damage::Double),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    #[test]
    fn a_transcript_damaged_anywhere_opens_and_is_valid(
        damages in proptest::collection::vec(damage(), 1..4)
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(async {
            let whole = varied_transcript(3).await;
            let mut lines: Vec<Vec<u8>> =
                whole.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
            for damage in damages {
                let n = lines.len().max(1);
                match damage {
                    Damage::Remove(at) => drop(lines.remove(at % n)),
                    Damage::Break(at) => lines[at % n] = b"{\"type\":\"us\xff\0\n".to_vec(),
                    Damage::Swap(a, b) => lines.swap(a % n, b % n),
                    Damage::Double(at) => lines.insert(at % n, lines[at % n].clone()),
                }
            }
            let setup = Setup::new(vec![echo()]);
            let (_, messages) = reopened(&setup, &lines.concat()).await;
            assert_valid(&messages);
        });
    }
}

#[test]
fn a_broken_line_is_moved_to_another_file_and_reported() {
    let whole = {
        let setup = Setup::new(vec![]);
        let mut session = setup.open();
        for name in ["m1", "m2", "m3"] {
            let message = Injected::message(MessageId::new(name), name);
            session.deliver(vec![message]).unwrap();
        }
        setup.on_disk()
    };
    let mut lines: Vec<&str> = whole.lines().collect();
    lines[1] = "{\"type\":\"user\", oh";
    let setup = Setup::new(vec![]);
    swarm_os::ensure_private_dir(setup.path().parent().unwrap()).unwrap();
    swarm_os::replace_alone(&setup.path(), lines.join("\n").as_bytes()).unwrap();

    let session = setup.open();
    let [broken] = session.transcript().broken() else {
        panic!("{:?}", session.transcript().broken());
    };
    assert_eq!(broken.number, 2);
    assert!(session.has_message(&MessageId::new("m1")));
    assert!(session.has_message(&MessageId::new("m3")));
    assert_eq!(setup.on_disk(), format!("{}\n{}\n", lines[0], lines[2]));
    let mut aside = setup.path().into_os_string();
    aside.push(".broken");
    let kept = std::fs::read_to_string(aside).unwrap();
    assert_eq!(kept, format!("{}\n", lines[1]));
}

#[test]
fn a_transcript_that_cannot_be_opened_names_its_path() {
    let setup = Setup::new(vec![]);
    let file = setup.scratch.path().join("file");
    swarm_os::create_private_file(&file).unwrap();
    let path = transcript_path(&file, Path::new("/x"), SessionId::random());
    let clock = Arc::new(SystemClock);
    let error = TranscriptFile::open(path.clone(), setup.author(), clock).unwrap_err();
    assert!(
        error.to_string().contains(&path.display().to_string()),
        "{error}"
    );
}
