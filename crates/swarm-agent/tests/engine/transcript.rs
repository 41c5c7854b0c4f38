//! The lines of transcripts.

use std::sync::Arc;

use serde_json::{Value, json};
use swarm_agent::{Injected, Session, TranscriptFile};
use swarm_os::OsError;
use swarm_protocol::{MessageId, SpawnId, SystemClock, TeamName, Usage};
use swarm_tools::Caller;

use crate::model::{COST, call, say};
use crate::recorder::left_open;
use crate::setup::{Setup, on};
use crate::tools::echo;
use crate::valid::{assert_valid, texts};

#[test]
fn the_first_delivery_syncs_the_new_directories() {
    let setup = Setup::new(vec![echo()]);
    let path = setup.path();
    let directory = path.ancestors().nth(3).unwrap();
    let (_session, left) = left_open(directory, || {
        let mut session = setup.open();
        session.deliver(vec![Injected::prompt("do it")]).unwrap();
        session
    });
    assert!(left.is_empty(), "{left:?}");
    assert!(path.exists());
}

#[test]
fn the_mark_of_a_coordinator_is_written_once_and_synced_with_everything_before_it() {
    for is_left_by_a_killed_process in [false, true] {
        let setup = Setup::new(vec![]);
        let path = setup.path();
        let directory = path.ancestors().nth(3).unwrap();
        if is_left_by_a_killed_process {
            swarm_os::ensure_private_dir(path.parent().unwrap()).unwrap();
        }
        let ((), left) = left_open(directory, || {
            if is_left_by_a_killed_process {
                drop(swarm_os::append(&path, br#"{"type":"summary","summary":"s"}"#).unwrap());
            }
            setup.transcript().mark_coordinator().unwrap();
        });
        assert!(left.is_empty(), "{left:?}");
        setup
            .open()
            .deliver(vec![Injected::prompt("go on")])
            .unwrap();
        let before = setup.on_disk();
        setup.transcript().mark_coordinator().unwrap();
        assert_eq!(setup.on_disk(), before);
    }
}

#[test]
fn a_conversation_whose_mark_was_not_synced_is_no_coordinators() {
    let setup = Setup::new(vec![]);
    let full = |_| Err(OsError::Gone("/transcript".into()));
    setup
        .transcript()
        .with_sync(full)
        .mark_coordinator()
        .unwrap_err();
}

#[tokio::test]
async fn lines_have_the_format_of_claude_code_and_a_swarm_key() {
    let setup = Setup::new(vec![echo()]);
    let mut author = setup.author();
    author.spawn = Some(SpawnId::random());
    let clock = Arc::new(SystemClock);
    let file = TranscriptFile::open(setup.path(), author.clone(), clock).unwrap();
    let mut session = Session::open(file, setup.parts()).unwrap();
    setup
        .model
        .play([call([("a", "Echo", json!({"text": "hi"}))]), say("done")]);
    session
        .deliver(vec![Injected::message(MessageId::new("m1"), "hello")])
        .unwrap();
    session.run_turn(on()).await;

    let mut lines: Vec<Value> = setup
        .on_disk()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let mut parent = Value::Null;
    for line in &mut lines {
        let line = line.as_object_mut().unwrap();
        assert_eq!(line.remove("parentUuid").unwrap(), parent);
        parent = line.remove("uuid").unwrap();
        let timestamp = line.remove("timestamp").unwrap();
        assert!(timestamp.as_str().unwrap().ends_with('Z'));
        for (key, value) in [
            ("isSidechain", json!(false)),
            ("userType", json!("external")),
            ("cwd", json!("/work/repo")),
            ("sessionId", json!(setup.session)),
            ("version", json!("0.0.0")),
            ("agentName", json!("bob")),
            ("teamName", json!("crew")),
        ] {
            assert_eq!(line.remove(key), Some(value), "{key}");
        }
    }
    let spawn = json!(author.spawn);
    assert_eq!(
        lines,
        [
            json!({
                "type": "user",
                "message": {"role": "user", "content": [{"type": "text", "text": "hello"}]},
                "swarm": {"spawnId": spawn, "messageIds": ["m1"]}
            }),
            json!({
                "type": "assistant",
                "message": {
                    "type": "message", "role": "assistant", "model": "fake-1",
                    "content": [{"type": "tool_use", "id": "a", "name": "Echo", "input": {"text": "hi"}}],
                    "stop_reason": "tool_use", "usage": COST
                },
                "swarm": {"spawnId": spawn}
            }),
            json!({
                "type": "user",
                "message": {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": "hi"}]},
                "swarm": {"spawnId": spawn}
            }),
            json!({
                "type": "assistant",
                "message": {
                    "type": "message", "role": "assistant", "model": "fake-1",
                    "content": [{"type": "text", "text": "done"}],
                    "stop_reason": "end_turn", "usage": COST
                },
                "swarm": {"spawnId": spawn}
            }),
        ]
    );
}

#[tokio::test]
async fn a_transcript_of_claude_code_is_continued_and_its_other_lines_are_kept() {
    let setup = Setup::new(vec![]);
    let usage = json!({"input_tokens": 5, "output_tokens": 2, "service_tier": "standard"});
    let assistant = |uuid: &str, block: Value| {
        json!({"parentUuid": null, "isSidechain": false, "type": "assistant", "uuid": uuid,
            "message": {"id": "msg_1", "role": "assistant", "model": "m", "content": [block], "usage": usage}})
    };
    let lines = [
        json!({"type": "summary", "summary": "earlier", "leafUuid": "x"}),
        json!({"type": "file-history-snapshot", "messageId": "y", "snapshot": {}}),
        json!({"isSidechain": false, "type": "user", "uuid": "u1", "message": {"role": "user", "content": "plain words"}}),
        json!({"isSidechain": true, "type": "user", "uuid": "s1", "message": {"role": "user", "content": "of a sub-agent"}}),
        assistant(
            "u2",
            json!({"type": "thinking", "thinking": "hm", "signature": "s"}),
        ),
        assistant("u3", json!({"type": "text", "text": "I look"})),
        assistant(
            "u4",
            json!({"type": "tool_use", "id": "t", "name": "Read", "input": {}}),
        ),
        json!({"type": "system", "subtype": "local_command", "content": "ls", "uuid": "u5"}),
        json!({"isSidechain": false, "type": "user", "uuid": "u6", "toolUseResult": {},
            "message": {"role": "user", "content": [{"tool_use_id": "t", "type": "tool_result", "content": [{"type": "text", "text": "seen"}]}]}}),
        json!({"type": "summary", "summary": "a line without an ID", "leafUuid": "u6"}),
    ];
    let bytes = lines.map(|line| line.to_string() + "\n").concat();
    swarm_os::ensure_private_dir(setup.path().parent().unwrap()).unwrap();
    swarm_os::replace_alone(&setup.path(), bytes.as_bytes()).unwrap();

    let mut session = setup.open();
    assert!(session.transcript().broken().is_empty());
    assert!(session.needs_turn());
    let totals = session.totals();
    assert_eq!((totals.requests, totals.tool_calls), (1, 1));
    let expected = Usage {
        input_tokens: 5,
        output_tokens: 2,
        ..Usage::default()
    };
    assert_eq!(totals.usage, expected);
    setup.model.play([say("done")]);
    session.run_turn(on()).await;
    let request = setup.model.last_request();
    assert_valid(&request.messages);
    assert_eq!(request.messages.len(), 3);
    assert_eq!(texts(&request.messages[0]), ["plain words"]);
    let on_disk = setup.on_disk();
    assert!(on_disk.starts_with(&bytes));
    let added: Value = serde_json::from_str(on_disk.lines().last().unwrap()).unwrap();
    assert_eq!(added["parentUuid"], "u6");
}

#[test]
fn lines_after_joining_a_team_contain_its_name() {
    let setup = Setup::new(vec![]);
    let mut session = setup.open();
    session.deliver(vec![Injected::prompt("one")]).unwrap();
    session.set_caller(Caller {
        team: Some(TeamName::parse("other").unwrap()),
        ..session.parts().tool_context.caller.clone()
    });
    session.deliver(vec![Injected::prompt("two")]).unwrap();
    let teams: Vec<Value> = setup
        .on_disk()
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["teamName"].clone())
        .collect();
    assert_eq!(teams, ["crew", "other"]);
}
