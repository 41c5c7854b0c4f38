//! Tests of transcripts as events.

use serde_json::{Value, json};
use swarm_protocol::Envelope;

use super::*;

#[expect(
    clippy::needless_pass_by_value,
    reason = "callers build the content in place"
)]
fn said(role: &str, content: Value) -> Value {
    json!({"type": role, "message": {"role": role, "content": content}})
}

fn write(path: &Path, lines: &[Value]) -> String {
    let lines: Vec<String> = lines.iter().map(|line| format!("{line}\n")).collect();
    let text = lines.concat();
    swarm_os::replace_alone(path, text.as_bytes()).unwrap();
    text
}

fn replay(lines: &[Value]) -> TranscriptReplay {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("t.jsonl");
    write(&path, lines);
    TranscriptReplay::open(&path).unwrap()
}

fn all(replay: &TranscriptReplay) -> Vec<AgentEvent> {
    (0..replay.count())
        .flat_map(|line| replay.events(line))
        .collect()
}

#[test]
fn parallel_calls_have_their_whole_results() {
    let call = |id: &str, command: &str| json!({"type": "tool_use", "id": id, "name": "Bash", "input": {"command": command}});
    let result = |id: &str, text: &str, failed: bool| json!({"type": "tool_result", "tool_use_id": id, "content": text, "is_error": failed});
    let long = (1..=500)
        .map(|n| format!("line {n}"))
        .collect::<Vec<_>>()
        .join("\n");
    let replay = replay(&[
        said(
            "assistant",
            json!([call("a", "seq 500"), call("b", "false")]),
        ),
        said(
            "user",
            json!([result("a", &long, false), result("b", "exit 1", true)]),
        ),
        said("assistant", json!([call("c", "sleep 1\nexit")])),
    ]);
    let events = all(&replay);
    let results: Vec<_> = events
        .iter()
        .filter_map(|event| match event {
            AgentEvent::ToolFinished {
                id,
                ok,
                line,
                detail,
                ..
            } => Some((id.as_str(), *ok, line.as_str(), detail.len())),
            _ => None,
        })
        .collect();
    assert_eq!(
        results,
        [
            ("a", true, "ok, 500 lines", 500),
            ("b", false, "failed, 1 line", 1),
            ("c", true, "no result yet", 3),
        ]
    );
    assert_eq!(events.len(), 6, "a result is not shown a second time");
}

#[test]
fn input_is_shown_under_the_name_of_who_wrote_it() {
    let bob = Envelope {
        from: "bob",
        color: Some("blue"),
        summary: None,
        text: "done\nall of it",
    };
    let both = format!("{}\nand this", bob.render());
    let replay = replay(&[
        said(
            "user",
            json!("<system-reminder>\nThe rules\n</system-reminder>"),
        ),
        said("user", json!([{"type": "text", "text": both}])),
        said(
            "user",
            json!("<bash-input>ls</bash-input><bash-stdout>a\nb</bash-stdout>"),
        ),
    ]);
    let shown: Vec<String> = all(&replay)
        .into_iter()
        .map(|event| match event {
            AgentEvent::MailIn { from, more, .. } => format!("{from}: {}", more.unwrap().text),
            AgentEvent::Notice { line } => line,
            AgentEvent::CommandOutput { text } => text,
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(
        shown,
        [
            "for the model: The rules",
            "bob: done\nall of it",
            "you: and this",
            "you: !ls",
            "a\nb"
        ]
    );
}

#[test]
fn a_compaction_is_shown_with_its_summary_and_not_the_messages_it_keeps() {
    let kept = |text: &str, is_summary: bool| {
        let mut line = said("user", json!([{"type": "text", "text": text}]));
        line["isCompactSummary"] = json!(is_summary);
        line["swarm"] = json!({"compacted": true});
        line
    };
    let replay = replay(&[
        json!({"type": "system", "subtype": "compact_boundary", "compactMetadata": {"trigger": "auto", "preTokens": 900},
            "swarm": {"compaction": {"lines": 2, "open": false, "usage": {}}}}),
        kept("the summary", true),
        kept("an old message", false),
    ]);
    let events = all(&replay);
    assert_eq!(events.len(), 2, "{events:?}");
    assert_eq!(
        events[0],
        notice("the conversation was compacted at 900 tokens".to_owned())
    );
    assert!(matches!(&events[1], AgentEvent::MailIn { line, .. } if line == "the summary"));
}

#[test]
fn appended_lines_are_read_once_they_are_complete() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("t.jsonl");
    let mut replay = TranscriptReplay::open(&path).unwrap();
    assert_eq!((replay.count(), replay.read_more().unwrap()), (0, false));
    let mut text = write(&path, &[said("user", json!("one"))]);
    assert!(replay.read_more().unwrap());
    let mut grow = |more: &str| {
        text.push_str(more);
        swarm_os::replace_alone(&path, text.as_bytes()).unwrap();
    };
    grow("{\"type\"");
    assert!(!replay.read_more().unwrap());
    grow(
        ": 1}x

",
    );
    assert!(replay.read_more().unwrap());
    assert_eq!(replay.events(0).len(), 1);
    assert!(
        matches!(&replay.events(1)[..], [AgentEvent::Notice { line }] if line.starts_with("line 2 is not valid"))
    );
    assert_eq!(replay.events(2), []);
    assert_eq!(replay.events(99), []);
}
