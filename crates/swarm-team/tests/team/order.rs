//! The spawn order: read once and unlinked.

use std::collections::BTreeMap;

use swarm_protocol::{AnswerInPlace, RuleText};
use swarm_protocol::{OnLost, PermissionMode, SessionId, SpawnId, UnixMs};
use swarm_team::{MemberLimits, OrderError, SpawnOrder};

type List = fn(&mut SpawnOrder) -> &mut Vec<RuleText>;

pub(crate) fn order() -> SpawnOrder {
    SpawnOrder {
        model_source: None,
        spawn_id: SpawnId::random(),
        agent: "bob@crew".parse().unwrap(),
        color: None,
        agent_type: None,
        definition: None,
        agent_config: swarm_permissions::AgentConfig::default(),
        cwd: "/".into(),
        worktree: None,
        merges: false,
        worktree_settings: serde_json::Value::Null,
        runtime: None,
        model: "anthropic/claude".to_owned(),
        mode: PermissionMode::Default,
        ceiling: PermissionMode::Default,
        plan_required: false,
        work_mode: PermissionMode::Default,
        allow: vec![rule("Bash(git log:*)")],
        deny: vec![rule("Edit(src/**)")],
        ask: Vec::new(),
        anchors: swarm_permissions::Anchors::default(),
        session_id: SessionId::random(),
        instructions: Vec::new(),
        env: BTreeMap::from([("TOKEN".to_owned(), "env-secret".to_owned())]),
        provider: BTreeMap::from([("ANTHROPIC_API_KEY".to_owned(), "key-secret".to_owned())]),
        limits: MemberLimits {
            max_unread: 1000,
            max_message_bytes: 256 * 1024,
            max_requests: 10,
            permission_timeout_ms: 1_000,
            shutdown_grace_ms: 1_000,
            answer_timeout_ms: 0,
            remind: true,
            on_lost: OnLost::Park,
        },
        verify_key: None,
        color_output: false,
        bell: true,
        answer_in_place: AnswerInPlace::Never,
        pace: 0.0,
        version: "1.2.3".to_owned(),
        deadline: UnixMs(1),
    }
}

fn rule(text: &str) -> RuleText {
    RuleText {
        rule: text.to_owned(),
        origin: "a test".to_owned(),
    }
}

#[test]
fn taking_an_order_unlinks_it() {
    let directory = tempfile::tempdir().unwrap();
    let order = order();
    let path = directory.path().join(SpawnOrder::file_name(order.spawn_id));
    std::fs::write(&path, serde_json::to_vec(&order).unwrap()).unwrap();
    let taken = SpawnOrder::take(&path).unwrap();
    assert_eq!(
        serde_json::to_value(&taken).unwrap(),
        serde_json::to_value(&order).unwrap()
    );
    assert!(!path.exists());
    let again = SpawnOrder::take(&path).unwrap_err();
    assert!(matches!(again, OrderError::Io { .. }));
    assert!(
        again.to_string().contains(path.to_str().unwrap()),
        "{again}"
    );
}

#[test]
fn what_is_no_order_is_named_and_does_not_stay() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("order.json");
    std::fs::write(&path, "{\"spawnId\":").unwrap();
    let error = SpawnOrder::take(&path).unwrap_err();
    assert!(matches!(error, OrderError::Json { .. }));
    assert!(
        error.to_string().contains(path.to_str().unwrap()),
        "{error}"
    );
    assert!(!path.exists());
}

#[test]
fn what_is_no_file_in_the_place_of_an_order_is_refused_and_not_waited_for() {
    let directory = tempfile::tempdir().unwrap();
    let secret = directory.path().join("secret");
    std::fs::write(&secret, serde_json::to_vec(&order()).unwrap()).unwrap();
    let link = directory.path().join("link.json");
    std::os::unix::fs::symlink(&secret, &link).unwrap();
    let pipe = directory.path().join("pipe.json");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    assert!(made.unwrap().success());
    for path in [&link, &pipe] {
        let error = SpawnOrder::take(path).unwrap_err();
        assert!(matches!(error, OrderError::File(_)), "{error}");
        assert!(
            error.to_string().contains(path.to_str().unwrap()),
            "{error}"
        );
    }
}

#[test]
fn rules_are_parsed_with_their_origin_and_errors_name_the_text() {
    let rules = order().rules().unwrap();
    assert_eq!(
        (rules.allow.len(), rules.deny.len(), rules.ask.len()),
        (1, 1, 0)
    );
    assert_eq!(rules.allow[0].origin, "a test");
    let lists: [List; 3] = [|o| &mut o.allow, |o| &mut o.deny, |o| &mut o.ask];
    for list in lists {
        let mut order = order();
        list(&mut order).push(rule("Bash(oops"));
        let error = order.rules().unwrap_err();
        assert!(error.to_string().contains("Bash(oops"), "{error}");
    }
}

#[test]
fn discarding_an_order_removes_it_and_is_idempotent() {
    let directory = tempfile::tempdir().unwrap();
    let order = order();
    let path = directory.path().join(SpawnOrder::file_name(order.spawn_id));
    std::fs::write(&path, "{}").unwrap();
    SpawnOrder::discard(directory.path(), order.spawn_id).unwrap();
    assert!(!path.exists());
    SpawnOrder::discard(directory.path(), order.spawn_id).unwrap();
}

#[test]
fn no_log_of_an_order_holds_keys() {
    let said = format!("{:?} {:#?}", order(), order());
    assert!(said.contains("bob") && !said.contains("secret"), "{said}");
}
