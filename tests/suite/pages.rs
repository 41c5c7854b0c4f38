//! The pages that describe formats say what the code does.

use serde_json::{Value, json};
use swarm_protocol::{
    Answer, ErrorKind, Event, MemberName, MemberState, MessageId, RequestState, TaskState, UnixMs,
};

fn page(path: &str) -> String {
    let path = swarm_tests::architecture::root().join(path);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[track_caller]
fn assert_says(page: &str, words: &str) {
    assert!(
        page.contains(words),
        "docs/formats.md does not say {words:?}"
    );
}

#[test]
fn every_exit_code_is_described() {
    let formats = page("docs/formats.md");
    let kinds = [
        ErrorKind::Internal,
        ErrorKind::Usage,
        ErrorKind::NotFound,
        ErrorKind::Conflict,
        ErrorKind::Refused,
        ErrorKind::TimedOut,
        ErrorKind::Environment,
        ErrorKind::Damaged,
        ErrorKind::AgentFailed,
        ErrorKind::Interrupted,
    ];
    for kind in kinds {
        let word = serde_json::to_value(kind).unwrap();
        let row = format!("| {} | `{}` |", kind.exit_code().0, word.as_str().unwrap());
        assert_says(&formats, &row);
    }
}

#[test]
fn every_setting_is_described() {
    let formats = page("docs/formats.md");
    let mut table = String::new();
    for line in page("config/default.toml").lines() {
        if let Some(name) = line.strip_prefix('[') {
            name.trim_end_matches(']').clone_into(&mut table);
        } else if let Some((key, _)) = line.split_once(" = ") {
            assert_says(&formats, &format!("| `{table}.{key}` |"));
        }
    }
    assert!(!table.is_empty());
}

#[test]
fn every_state_is_named() {
    let formats = page("docs/formats.md");
    let members = MemberState::ALL.map(MemberState::name);
    let names = members
        .into_iter()
        .chain(TaskState::ALL.map(TaskState::name));
    for name in names {
        assert_says(&formats, &format!("`{name}`"));
    }
}

#[test]
fn events_and_answers_have_the_fields_that_are_described() {
    let formats = page("docs/formats.md");
    let event = Event::Delivered {
        msg_id: MessageId::new("m"),
        to: MemberName::parse("bob").unwrap(),
    };
    assert_eq!(
        serde_json::to_value(event).unwrap(),
        json!({"type": "delivered", "msgId": "m", "to": "bob"})
    );
    assert_says(&formats, "| `delivered` | `msgId`, `to` |");
    let answered = RequestState::Answered {
        answer: Answer::Approved {
            always: true,
            updated_input: None,
        },
        at: UnixMs(1),
    };
    let answered: Value = serde_json::to_value(answered).unwrap();
    assert_eq!(
        answered,
        json!({"is": "answered", "answer": {"answer": "approved", "always": true}, "at": 1})
    );
    assert_says(
        &formats,
        r#"{"answer":"approved","always":BOOL,"updated_input":OBJECT?}"#,
    );
}
