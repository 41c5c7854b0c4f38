//! The spawn order: read once and unlinked.

use std::collections::BTreeMap;

use swarm_permissions::{Behavior, Rule, RuleSet};
use swarm_protocol::{OnLost, PermissionMode, SessionId, SpawnId, UnixMs};
use swarm_team::{
    MemberDefinition, MemberIdentity, MemberLimits, MemberPermissions, MemberRuntime, MemberSpec,
    MemberWorkspace, OrderError, PaneSettings, SpawnOrder,
};

const VERSION: &str = "1.2.3";

pub(crate) fn order() -> SpawnOrder {
    let mut rules = RuleSet::default();
    let rule = |text| Rule::parse(text).unwrap();
    rules.add(Behavior::Allow, rule("Bash(git log:*)"), "a test");
    rules.add(Behavior::Deny, rule("Edit(src/**)"), "a test");
    SpawnOrder {
        spec: MemberSpec {
            identity: MemberIdentity {
                spawn_id: SpawnId::random(),
                agent: "bob@crew".parse().unwrap(),
                color: None,
                session_id: SessionId::random(),
            },
            runtime: MemberRuntime {
                provider: BTreeMap::from([(
                    "ANTHROPIC_API_KEY".to_owned(),
                    "key-secret".to_owned(),
                )]),
                ..MemberRuntime::new("anthropic/claude")
            },
            definition: MemberDefinition::default(),
            permissions: MemberPermissions {
                rules,
                ..MemberPermissions::new(PermissionMode::Default, PermissionMode::Default)
            },
            workspace: MemberWorkspace {
                cwd: "/".into(),
                env: BTreeMap::from([("TOKEN".to_owned(), "env-secret".to_owned())]),
                ..MemberWorkspace::default()
            },
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
        },
        pane: PaneSettings {
            color: false,
            bell: true,
        },
        lead_pane: None,
        version: VERSION.to_owned(),
        deadline: UnixMs(1),
    }
}

#[test]
fn taking_an_order_unlinks_it() {
    let directory = tempfile::tempdir().unwrap();
    let order = order();
    let path = directory
        .path()
        .join(SpawnOrder::file_name(order.spec.identity.spawn_id));
    std::fs::write(&path, serde_json::to_vec(&order).unwrap()).unwrap();
    let taken = SpawnOrder::take(&path, VERSION).unwrap();
    assert_eq!(
        serde_json::to_value(&taken).unwrap(),
        serde_json::to_value(&order).unwrap()
    );
    assert!(!path.exists());
    let again = SpawnOrder::take(&path, VERSION).unwrap_err();
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
    let error = SpawnOrder::take(&path, VERSION).unwrap_err();
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
        let error = SpawnOrder::take(path, VERSION).unwrap_err();
        assert!(matches!(error, OrderError::File(_)), "{error}");
        assert!(
            error.to_string().contains(path.to_str().unwrap()),
            "{error}"
        );
    }
}

#[test]
fn an_order_with_an_invalid_rule_is_refused_and_the_error_names_the_rule() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("order.json");
    for list in ["allow", "deny", "ask"] {
        let mut order = serde_json::to_value(order()).unwrap();
        let rules = order["spec"]["permissions"]["rules"][list].as_array_mut();
        let invalid = serde_json::json!({"rule": "Bash(oops", "origin": "a test"});
        rules.unwrap().push(invalid);
        std::fs::write(&path, order.to_string()).unwrap();
        let error = SpawnOrder::take(&path, VERSION).unwrap_err();
        assert!(error.to_string().contains("Bash(oops"), "{error}");
    }
}

#[test]
fn an_order_of_another_version_is_refused_whatever_its_format() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("order.json");
    let mut other = serde_json::to_value(order()).unwrap();
    other["version"] = "1.3.0".into();
    for order in [other, serde_json::json!({"version": "1.3.0"})] {
        std::fs::write(&path, order.to_string()).unwrap();
        let error = SpawnOrder::take(&path, VERSION).unwrap_err();
        assert_eq!(
            error.to_string(),
            "this is version 1.2.3, but the lead runs 1.3.0: install the same version of both"
        );
        assert!(!path.exists());
    }
}

#[test]
fn discarding_an_order_removes_it_and_is_idempotent() {
    let directory = tempfile::tempdir().unwrap();
    let order = order();
    let path = directory
        .path()
        .join(SpawnOrder::file_name(order.spec.identity.spawn_id));
    std::fs::write(&path, "{}").unwrap();
    SpawnOrder::discard(directory.path(), order.spec.identity.spawn_id).unwrap();
    assert!(!path.exists());
    SpawnOrder::discard(directory.path(), order.spec.identity.spawn_id).unwrap();
}

#[test]
fn no_log_of_an_order_holds_keys() {
    let said = format!("{:?} {:#?}", order(), order());
    assert!(said.contains("bob") && !said.contains("secret"), "{said}");
}
