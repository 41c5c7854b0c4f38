//! Files written by Claude Code 2.1.329, and its handling of entries written by other programs.
//!
//! The samples are real except for anonymized paths.

#![expect(clippy::unwrap_used, reason = "an unreadable sample fails the test")]

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use swarm_protocol::{
    ControlFrame, Envelope, InboxEntry, PermissionResult, Task, TeamConfig, input_digest,
    parse_inbox,
};

fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/claude-code-2.1.329")
}

/// Returns the samples of a subdirectory as file stem and content.
fn samples(subdirectory: &str) -> Vec<(String, String)> {
    let mut samples: Vec<_> = fs::read_dir(directory().join(subdirectory))
        .unwrap()
        .map(|file| {
            let path = file.unwrap().path();
            let stem = path.file_stem().unwrap().to_str().unwrap().to_owned();
            (stem, fs::read_to_string(&path).unwrap())
        })
        .collect();
    assert!(!samples.is_empty());
    samples.sort();
    samples
}

fn entry(stem: &str) -> InboxEntry {
    let path = directory()
        .join("inbox-entries")
        .join(format!("{stem}.json"));
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

#[test]
fn every_config_round_trips() {
    for (stem, text) in samples("config") {
        let config: TeamConfig = serde_json::from_str(&text).unwrap();
        let original: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(serde_json::to_value(&config).unwrap(), original, "{stem}");
        assert!(config.members[0].name.is_lead(), "{stem}");
        assert!(config.rest.is_empty(), "{stem}: an unknown field");
        for member in &config.members {
            assert!(
                member.rest.is_empty(),
                "{stem}: an unknown field of {}",
                member.name
            );
        }
    }
}

#[test]
fn every_inbox_entry_round_trips() {
    for (stem, text) in samples("inbox-entries") {
        let inbox = parse_inbox(format!("[{text}]").as_bytes()).unwrap();
        assert!(inbox.malformed.is_empty(), "{stem}: {:?}", inbox.malformed);
        let original: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(
            serde_json::to_value(&inbox.entries[0]).unwrap(),
            original,
            "{stem}"
        );
        let signed = inbox.entries[0].rest.contains_key("lead_sig");
        assert_eq!(signed, stem.contains("signed"), "{stem}");
    }
}

#[test]
fn every_task_round_trips_or_is_rejected_with_a_reason() {
    // Claude Code skips these three silently.
    let broken = [
        ("task-6", "missing field `description`"),
        ("task-10", "unknown variant `weird`"),
        ("task-11", "missing field `blocks`"),
    ];
    for (stem, text) in samples("tasks") {
        let parsed = Task::parse(text.as_bytes());
        if let Some((_, reason)) = broken.iter().find(|(name, _)| *name == stem) {
            let error = parsed.unwrap_err().to_string();
            assert!(error.contains(reason), "{stem}: {error}");
        } else {
            let original: Value = serde_json::from_str(&text).unwrap();
            assert_eq!(
                serde_json::to_value(parsed.unwrap()).unwrap(),
                original,
                "{stem}"
            );
        }
    }
}

#[test]
fn every_control_frame_has_its_declared_type_and_round_trips() {
    for (stem, text) in samples("inbox-entries") {
        let entry: InboxEntry = serde_json::from_str(&text).unwrap();
        let frame = ControlFrame::from_text(&entry.text);
        if stem.starts_with("plain") {
            assert_eq!(frame, None, "{stem}");
            continue;
        }
        let frame = frame.unwrap_or_else(|| panic!("{stem} is a frame"));
        assert_eq!(Some(frame.type_name()), stem.split('-').next(), "{stem}");
        let written: Value = serde_json::from_str(&frame.to_text()).unwrap();
        let original: Value = serde_json::from_str(&entry.text).unwrap();
        assert_eq!(written, original, "{stem}");
        // Only a lead may ask a member to stop: from a peer, the frame is delivered as text.
        let from_a_peer = stem == "shutdown_request-1";
        assert_eq!(
            ControlFrame::of_entry(&entry).is_none(),
            from_a_peer,
            "{stem}"
        );
    }
}

#[test]
fn a_denial_contains_its_message_and_an_approval_its_input() {
    let answer = |stem: &str| match ControlFrame::of_entry(&entry(stem)) {
        Some(ControlFrame::PermissionResponse(response)) => response.result,
        other => panic!("{stem}: {other:?}"),
    };
    assert_eq!(
        answer("permission_response-1"),
        PermissionResult::Error {
            error: "Permission denied".to_owned()
        }
    );
    let PermissionResult::Success { response } = answer("permission_response-signed-1") else {
        panic!("not an approval");
    };
    assert_eq!(
        response.unwrap()["updated_input"]["description"],
        "make a file"
    );
}

/// The only captured digest whose input has no anonymized path, so that it can be recomputed.
#[test]
fn the_digest_of_a_call_matches_claude_code() {
    let Some(ControlFrame::PermissionResponse(response)) =
        ControlFrame::of_entry(&entry("permission_response-1"))
    else {
        panic!("not a response");
    };
    let bound = response.approved_request.unwrap();
    assert_eq!(
        input_digest(&bound.tool_name, &json!({"command": "ls"})),
        bound.input_digest
    );
}

/// Claude Code's handling of one entry: the injected user texts, and the inbox afterwards.
#[derive(serde::Deserialize)]
struct LabCase {
    case: String,
    entry: Value,
    injected: Vec<String>,
}

fn lab_cases() -> Vec<LabCase> {
    let text = fs::read_to_string(directory().join("malformed_entries.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

#[test]
fn unusual_entries_are_delivered_or_moved_aside_as_in_claude_code() {
    for LabCase {
        case,
        entry,
        injected,
    } in lab_cases()
    {
        let inbox = parse_inbox(json!([entry]).to_string().as_bytes()).unwrap();
        let waiting: Vec<_> = inbox.entries.iter().filter(|entry| !entry.read).collect();
        assert_eq!(waiting.is_empty(), injected.is_empty(), "{case}");
        assert_eq!(inbox.entries.len() + inbox.malformed.len(), 1, "{case}");
        assert_eq!(
            inbox.malformed.is_empty(),
            !injected.is_empty() || case == "read true",
            "{case}"
        );
        let (Some(entry), Some(injected)) = (waiting.first(), injected.first()) else {
            continue;
        };
        assert_eq!(
            Envelope::of(entry).render(),
            expected(&case, injected),
            "{case}"
        );
        assert_eq!(ControlFrame::of_entry(entry), None, "{case}");
    }
}

/// Returns the text that swarm injects where Claude Code injected `captured`.
fn expected(case: &str, captured: &str) -> String {
    let text = captured.replace("\\n", "\n");
    match case {
        // Claude Code breaks only the closing tag of its own frame. A peer could still imitate a
        // message from the program, so swarm breaks those tags as well.
        "tag injection" => text
            .replace("<system-reminder>", "<\\system-reminder>")
            .replace("</system-reminder>", "<\\/system-reminder>"),
        // The sample contains neither the long text nor the whole injected text.
        "big 200kB" => {
            "<teammate-message teammate_id=\"bob\">\nx*200000\n</teammate-message>".to_owned()
        }
        _ => text,
    }
}

#[test]
fn each_malformed_entry_has_a_reason_and_is_preserved() {
    let elements: Vec<Value> = lab_cases().into_iter().map(|case| case.entry).collect();
    let inbox = parse_inbox(Value::from(elements.clone()).to_string().as_bytes()).unwrap();
    let reasons: Vec<_> = inbox
        .malformed
        .iter()
        .map(|bad| bad.reason.as_str())
        .collect();
    assert_eq!(
        &reasons[..4],
        [
            "`from` is missing",
            "`text` is missing",
            "`timestamp` is missing",
            "`timestamp` is not a string"
        ]
    );
    assert!(reasons[4].contains("string \"str\""), "{reasons:?}");
    assert!(reasons[5].contains("null"), "{reasons:?}");
    assert_eq!(&reasons[6..], ["`text` is not a string"]);
    for bad in &inbox.malformed {
        let raw: Value = serde_json::from_str(bad.raw.get()).unwrap();
        assert!(elements.contains(&raw), "{raw}");
    }
}
