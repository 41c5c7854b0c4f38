//! Hooks that stop an agent, and hooks next to other decisions about permissions.

use std::sync::Arc;

use serde_json::json;
use swarm_agent::{Injected, Rights};
use swarm_permissions::{Behavior, Destination, PermissionOutcome, Rule, RuleSet, Suggestion};
use swarm_protocol::PermissionMode;

use crate::hooks::{hook_inputs, hooked, last_result};
use crate::model::{call, say};
use crate::setup::{on, rights};
use crate::tools::{Log, acting, change, disclosing};

#[tokio::test]
async fn permission_denied_hooks_receive_the_reason_and_can_allow_a_retry() {
    let line = r#"echo '{"hookSpecificOutput": {"retry": true}}'"#;
    let mut setup = hooked(vec![acting("Act")], &[("PermissionDenied", "Act", line)]);
    setup.rights = rights(PermissionMode::Default);
    setup
        .gate
        .answers
        .lock()
        .push_back(PermissionOutcome::deny("not today"));
    setup
        .model
        .play([call([("a", "Act", json!({"x": 1}))]), say("done")]);
    setup.prompted().run_turn(on()).await;
    let denied = &hook_inputs(&setup, "PermissionDenied")[0];
    assert_eq!(denied["tool_name"], "Act");
    assert_eq!(denied["tool_input"], json!({"x": 1}));
    assert_eq!(denied["tool_use_id"], "a");
    assert_eq!(denied["reason"], "not today");
    let result = last_result(&setup);
    assert!(
        result.contains("permission denied. not today A user hook says that you may try"),
        "{result}"
    );
}

#[tokio::test]
async fn a_directory_added_by_an_approval_runs_hooks() {
    let mut setup = hooked(
        vec![acting("Act")],
        &[("DirectoryAdded", "permission_update", "true")],
    );
    setup.rights = rights(PermissionMode::Default);
    setup
        .gate
        .answers
        .lock()
        .push_back(PermissionOutcome::Allow {
            updated_input: None,
            grants: vec![Suggestion::AddDirectories {
                directories: vec!["/srv/data".into()],
                destination: Destination::Session,
            }],
        });
    setup
        .model
        .play([call([("a", "Act", json!({}))]), say("done")]);
    setup.prompted().run_turn(on()).await;
    let added = &hook_inputs(&setup, "DirectoryAdded")[0];
    assert_eq!(added["directory"], "/srv/data");
    assert_eq!(added["source"], "permission_update");
}

#[tokio::test]
async fn a_hook_that_stops_the_agent_before_a_turn_ends_that_turn_without_a_request() {
    let stop = r#"echo '{"continue": false, "stopReason": "not today"}'"#;
    let setup = hooked(vec![], &[("SessionStart", "startup", stop)]);
    let mut session = setup.open();
    assert_eq!(session.fire_start("startup", &on()).await, None);
    session.deliver(vec![Injected::prompt("do it")]).unwrap();
    assert_eq!(session.halted().as_deref(), Some("not today"));
    let outcome = session.run_turn(on()).await;
    assert_eq!(outcome.word(), "stopped_by_hook");
    assert_eq!(
        outcome.trouble().unwrap(),
        "a hook stopped the turn: not today"
    );
    assert!(setup.model.requests().is_empty());
    assert!(!session.needs_turn());
    setup.model.play([say("done")]);
    session.deliver(vec![Injected::prompt("and now")]).unwrap();
    let next = session.run_turn(on()).await;
    assert!(next.is_finished(), "only one turn is stopped: {next:?}");
}

#[tokio::test]
async fn a_prompt_hook_that_stops_the_agent_withholds_the_prompt_and_ends_the_turn() {
    let stop = r#"echo '{"continue": false, "stopReason": "not today"}'"#;
    let setup = hooked(vec![], &[("UserPromptSubmit", "", stop)]);
    let mut session = setup.open();
    let prompt = vec![Injected::prompt("the secret is 7")];
    let submitted = session.submit(vec![], prompt, &on()).await.unwrap();
    assert_eq!(submitted.withheld[0].why, "not today");
    let outcome = session.run_turn(on()).await;
    assert_eq!(outcome.word(), "stopped_by_hook");
    assert!(setup.model.requests().is_empty());
    assert!(!setup.on_disk().contains("the secret"));
}

#[tokio::test]
async fn the_reason_of_a_stop_hook_is_kept_until_the_next_turn() {
    let stop = r#"if [ ! -e seen ]; then touch seen; echo '{"continue": false, "stopReason": "enough"}'; fi"#;
    let setup = hooked(vec![], &[("Stop", "", stop)]);
    setup.model.play([say("done"), say("done again")]);
    let mut session = setup.prompted();
    assert!(session.run_turn(on()).await.is_finished());
    assert_eq!(session.stop_reason(), Some("enough"));
    session.deliver(vec![Injected::prompt("and now")]).unwrap();
    assert!(session.run_turn(on()).await.is_finished());
    assert_eq!(session.stop_reason(), None);
}

#[tokio::test]
async fn a_rule_does_not_end_an_approval_that_a_hook_requires() {
    let log = Log::default();
    let ask = r#"echo '{"hookSpecificOutput": {"permissionDecision": "ask"}}'"#;
    let mut setup = hooked(vec![change(log.clone())], &[("PreToolUse", "", ask)]);
    setup.rights = rights(PermissionMode::Default);
    let input = json!({"text": "1"});
    setup.model.play([call([("a", "Change", input)])]);
    let (waiting, rights, cancel) = (setup.gate.waiting.clone(), setup.rights.clone(), on());
    let mut session = setup.prompted();
    let stop = cancel.clone();
    tokio::join!(session.run_turn(cancel), async move {
        waiting.notified().await;
        assert!(rights.set_mode(PermissionMode::BypassPermissions));
        for _ in 0..50 {
            tokio::task::yield_now().await;
        }
        stop.cancel();
    });
    assert!(log.lock().is_empty(), "{:?}", log.lock());
}

#[tokio::test]
async fn neither_mode_nor_rule_nor_hook_answers_for_the_person() {
    let allow = r#"echo '{"hookSpecificOutput": {"permissionDecision": "allow", "decision": {"behavior": "allow"}}}'"#;
    let hooks = [("PreToolUse", "", allow), ("PermissionRequest", "", allow)];
    let mut setup = hooked(vec![disclosing()], &hooks);
    let mut rules = RuleSet::default();
    rules.add(Behavior::Allow, Rule::parse("Disclose").unwrap(), "test");
    let widest = PermissionMode::BypassPermissions;
    setup.rights = Arc::new(Rights::new(widest, rules, widest));
    let calls = [("a", "Disclose", json!({})), ("b", "Disclose", json!({}))];
    setup.model.play([call(calls), say("done")]);
    let yes = PermissionOutcome::allow(None);
    let no = PermissionOutcome::deny("not that");
    setup.gate.answers.lock().extend([yes, no]);
    setup.prompted().run_turn(on()).await;
    let asked = setup.gate.asked.lock();
    assert_eq!(asked.len(), 2);
    assert!(asked.iter().all(|request| request.suggestions.is_empty()));
    assert!(last_result(&setup).contains("not that"));
}
