//! Files of other programs are written back with all unknown fields.

use proptest::prelude::*;
use serde_json::Value;
use swarm_protocol::{
    ControlFrame, InboxEntry, IsoTime, MarkKind, SwarmMark, Task, TeamConfig, count_unread,
    parse_inbox,
};

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        prop::num::f64::NORMAL.prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((any::<String>(), inner), 0..4)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

fn text() -> impl Strategy<Value = Value> {
    any::<String>().prop_map(Value::from)
}

/// Fields that no version defines.
fn unknown_fields() -> impl Strategy<Value = Vec<(String, Value)>> {
    prop::collection::vec(("x-\\PC{0,8}", any_json()), 0..4)
}

/// An optional field.
fn maybe(
    name: &'static str,
    value: impl Strategy<Value = Value>,
) -> impl Strategy<Value = Vec<(String, Value)>> {
    prop::option::of(value).prop_map(move |value| {
        value
            .map(|value| (name.to_owned(), value))
            .into_iter()
            .collect()
    })
}

fn always(
    name: &'static str,
    value: impl Strategy<Value = Value>,
) -> impl Strategy<Value = Vec<(String, Value)>> {
    value.prop_map(move |value| vec![(name.to_owned(), value)])
}

fn object(fields: impl IntoIterator<Item = Vec<(String, Value)>>) -> Value {
    Value::Object(fields.into_iter().flatten().collect())
}

/// A JSON object of the given fields, in this order.
macro_rules! object_of {
    ($($field:expr),+ $(,)?) => {
        [$($field.boxed()),+].prop_map(object)
    };
}

/// An entry whose optional fields may have any type.
fn any_entry() -> impl Strategy<Value = Value> {
    object_of![
        always("from", text()),
        maybe("summary", any_json()),
        always("text", text()),
        always("timestamp", text()),
        maybe("color", any_json()),
        maybe("msgV", any_json()),
        maybe("msg_id", any_json()),
        maybe("type", any_json()),
        maybe("read", any::<bool>().prop_map(Value::from)),
        maybe("swarm", any_json()),
        unknown_fields(),
    ]
}

fn any_task() -> impl Strategy<Value = Value> {
    let id = || (1_u64..1000).prop_map(|id| Value::from(id.to_string()));
    let ids = move || prop::collection::vec(id(), 0..3).prop_map(Value::from);
    let status = prop::sample::select(vec!["pending", "in_progress", "completed"]);
    object_of![
        always("id", id()),
        always("subject", text()),
        always("description", text()),
        maybe("activeForm", text()),
        maybe("owner", text()),
        always("status", status.prop_map(Value::from)),
        always("blocks", ids()),
        always("blockedBy", ids()),
        maybe(
            "metadata",
            unknown_fields().prop_map(|fields| object([fields]))
        ),
        unknown_fields(),
    ]
}

fn name() -> impl Strategy<Value = Value> {
    "[A-Za-z0-9][A-Za-z0-9_-]{0,9}".prop_map(Value::from)
}

fn time() -> impl Strategy<Value = Value> {
    (1..u64::MAX).prop_map(Value::from)
}

/// swarm's metadata of an entry, as a later version may write it.
fn any_mark() -> impl Strategy<Value = Value> {
    let id = any::<u128>().prop_map(|id| Value::from(uuid::Uuid::from_u128(id).to_string()));
    let reservation = object_of![
        always("spawnerPid", any::<u32>().prop_map(Value::from)),
        always("spawnerStart", text()),
        always("deadline", time()),
        unknown_fields(),
    ];
    object_of![
        always("spawnId", id),
        maybe("socket", "/\\PC{0,9}".prop_map(Value::from)),
        maybe("reservation", reservation),
        maybe("diedAt", time()),
        unknown_fields(),
    ]
}

fn any_member() -> impl Strategy<Value = Value> {
    object_of![
        always("agentId", text()),
        always("name", name()),
        maybe("agentType", text()),
        maybe("model", text()),
        maybe("prompt", text()),
        maybe("color", text()),
        maybe("planModeRequired", any::<bool>().prop_map(Value::from)),
        maybe("joinedAt", time()),
        maybe("tmuxPaneId", text()),
        maybe("cwd", "/\\PC{0,9}".prop_map(Value::from)),
        maybe("worktreePath", text()),
        maybe("sessionId", text()),
        maybe(
            "subscriptions",
            prop::collection::vec(any_json(), 0..2).prop_map(Value::from)
        ),
        maybe("backendType", text()),
        maybe("isActive", any::<bool>().prop_map(Value::from)),
        maybe("mode", text()),
        maybe("swarm", any_mark()),
        unknown_fields(),
    ]
}

fn any_config() -> impl Strategy<Value = Value> {
    let process = object_of![
        always("pid", any::<u32>().prop_map(Value::from)),
        always("pidSpace", text()),
        always("claimedAt", time()),
        always("procStart", text()),
        unknown_fields(),
    ];
    object_of![
        always("name", name()),
        maybe("description", text()),
        maybe("createdAt", time()),
        maybe("leadAgentId", "\\PC{1,9}".prop_map(Value::from)),
        maybe("leadSessionId", text()),
        maybe("leadProcess", process),
        always(
            "members",
            prop::collection::vec(any_member(), 0..3).prop_map(Value::from)
        ),
        unknown_fields(),
    ]
}

proptest! {
    #[test]
    fn an_entry_preserves_unknown_fields(original in any_entry()) {
        let inbox = parse_inbox(format!("[{original}]").as_bytes()).unwrap();
        prop_assert_eq!(inbox.malformed.len(), 0);
        let mut expected = original.clone();
        expected["read"] = Value::from(original.get("read") == Some(&Value::Bool(true)));
        prop_assert_eq!(serde_json::to_value(&inbox.entries[0]).unwrap(), expected);
    }

    #[test]
    fn a_task_preserves_unknown_fields(original in any_task()) {
        let task = Task::parse(original.to_string().as_bytes()).unwrap();
        prop_assert_eq!(serde_json::to_value(&task).unwrap(), original);
    }

    #[test]
    fn a_roster_preserves_unknown_fields(original in any_config()) {
        let config: TeamConfig = serde_json::from_str(&original.to_string()).unwrap();
        prop_assert_eq!(serde_json::to_value(&config).unwrap(), original);
    }

    #[test]
    fn parsing_arbitrary_bytes_as_an_inbox_does_not_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _any_outcome = parse_inbox(&bytes);
    }

    #[test]
    fn a_malformed_element_does_not_affect_the_others(
        elements in prop::collection::vec(prop_oneof![any_entry(), any_json()], 0..5),
        cut in any::<prop::sample::Index>(),
    ) {
        let file = Value::from(elements.clone()).to_string();
        let inbox = parse_inbox(file.as_bytes()).unwrap();
        prop_assert_eq!(inbox.entries.len() + inbox.malformed.len(), elements.len());
        let unread = inbox.entries.iter().filter(|entry| !entry.read);
        prop_assert_eq!(count_unread(file.as_bytes()).unwrap(), unread.count());
        let half = &file.as_bytes()[..cut.index(file.len())];
        prop_assert!(half.is_empty() || parse_inbox(half).is_err());
        prop_assert!(half.is_empty() || count_unread(half).is_err());
    }
}

#[test]
fn a_field_that_swarm_sets_replaces_an_ill_typed_one() {
    let text = r#"[{"from":"bob","text":"t","timestamp":"now","msg_id":5,"read":"yes"}]"#;
    let mut entry: InboxEntry = parse_inbox(text.as_bytes()).unwrap().entries.remove(0);
    assert_eq!(entry.msg_id, None);
    assert!(!entry.read);
    entry.msg_id = Some(swarm_protocol::MessageId::new("m1"));
    entry.read = true;
    let written = serde_json::to_string(&entry).unwrap();
    assert_eq!(
        written,
        r#"{"from":"bob","text":"t","timestamp":"now","msg_id":"m1","read":true}"#
    );
}

#[test]
fn a_lone_surrogate_in_a_summary_loses_no_message() {
    let text = r#"[{"from":"bob","text":"t","summary":"done \ud83d","timestamp":"now"}]"#;
    let inbox = parse_inbox(text.as_bytes()).unwrap();
    assert_eq!(inbox.entries[0].summary.as_deref(), Some("done \u{fffd}"));
}

const SHUTDOWN: &str = r#"{"type":"shutdown_request","requestId":"shutdown-1@bob","from":"team-lead","timestamp":"now"}"#;

fn by_swarm(kind: Option<MarkKind>) -> InboxEntry {
    InboxEntry {
        swarm: Some(SwarmMark {
            kind,
            ..SwarmMark::default()
        }),
        ..InboxEntry::new("team-lead", SHUTDOWN, IsoTime::new("now"))
    }
}

#[test]
fn a_report_that_quotes_a_frame_is_text() {
    assert!(ControlFrame::of_entry(&by_swarm(Some(MarkKind::Control))).is_some());
    assert_eq!(
        ControlFrame::of_entry(&by_swarm(Some(MarkKind::System))),
        None
    );
    assert_eq!(ControlFrame::of_entry(&by_swarm(None)), None);
    assert!(!by_swarm(None).is_urgent());
    let prose = InboxEntry::new(
        "team-lead",
        format!("He wrote {SHUTDOWN}"),
        IsoTime::new("now"),
    );
    assert_eq!(ControlFrame::of_entry(&prose), None);
}

#[test]
fn a_mark_of_a_later_version_does_not_create_a_control_frame() {
    let mut foreign = InboxEntry::new("team-lead", SHUTDOWN, IsoTime::new("now"));
    assert!(ControlFrame::of_entry(&foreign).is_some());
    foreign
        .rest
        .insert("swarm".to_owned(), serde_json::json!({"kind": "quoted"}));
    assert_eq!(ControlFrame::of_entry(&foreign), None);
}

#[test]
fn a_field_is_written_once_and_one_of_another_type_as_it_was() {
    let text = r#"{"from":"a","text":"b","timestamp":"now","color":7,"other":[1],"summary":"s"}"#;
    let mut entry: InboxEntry = serde_json::from_str(text).unwrap();
    entry.rest.insert("from".to_owned(), "somebody else".into());
    let written = serde_json::to_string(&entry).unwrap();
    let expected = r#"{"from":"a","text":"b","summary":"s","timestamp":"now","read":false,"color":7,"other":[1]}"#;
    assert_eq!(written, expected);
}
