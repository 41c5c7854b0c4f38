//! Permission decisions about calls.

use std::sync::Arc;

use serde_json::json;
use swarm_agent::{Injected, Rights, Session};
use swarm_permissions::{Behavior, Destination, Rule, RuleSet, RuleValue, Suggestion};
use swarm_permissions::{PermissionOutcome, PermissionRequest};
use swarm_protocol::{
    AgentEvent, MemberState, PermissionMode, SandboxKind, SandboxUse, ShellGuards,
};

use crate::model::{call, say};
use crate::setup::{Gate, Setup, on, rights};
use crate::tools::{Log, change, echo, shell};
use crate::valid::{assert_valid, results};

fn asking(log: &Log) -> Setup {
    let mut setup = Setup::new(vec![change(log.clone()), echo()]);
    setup.rights = rights(PermissionMode::Default);
    setup
        .model
        .play([call([("a", "Change", json!({"text": "1"}))]), say("done")]);
    setup
}

fn allow() -> PermissionOutcome {
    PermissionOutcome::allow(None)
}

fn grant(tool: &str) -> Suggestion {
    Suggestion::AddRules {
        rules: vec![RuleValue {
            tool_name: tool.into(),
            rule_content: None,
        }],
        behavior: Behavior::Allow,
        destination: Destination::Session,
    }
}

/// Returns a session in the directory `repo` with the built-in tools, which runs these shell
/// commands in order.
fn in_shell(setup: &mut Setup, guards: ShellGuards, commands: &[&str]) -> Session {
    setup.tools = swarm_tools::builtin();
    let repo = setup.scratch.path().canonicalize().unwrap().join("repo");
    std::fs::create_dir_all(repo.join("secrets")).unwrap();
    for (n, command) in commands.iter().enumerate() {
        let id = format!("c{n}");
        let input = json!({ "command": command });
        setup.model.play([call([(id.as_str(), "Bash", input)])]);
    }
    setup.model.play([say("done")]);
    let mut parts = setup.parts();
    let context = &mut parts.tool_context;
    context.checkout = Arc::new(swarm_tools::Checkout::of(&repo, None));
    context.guards = Arc::new(guards);
    context.env = Arc::new([("SWARM_NAME".to_owned(), "bob".to_owned())].into());
    context.cwd = repo;
    let mut session = Session::open(setup.transcript(), parts).unwrap();
    session.deliver(vec![Injected::prompt("do it")]).unwrap();
    session
}

fn no() -> PermissionOutcome {
    PermissionOutcome::deny("no")
}

#[tokio::test]
async fn commands_are_checked_in_the_current_shell_directory() {
    let mut setup = Setup::new(Vec::new());
    let mut rules = RuleSet::default();
    rules.add(
        Behavior::Deny,
        Rule::parse("Read(./secrets/**)").unwrap(),
        "test",
    );
    let widest = PermissionMode::BypassPermissions;
    setup.rights = Arc::new(Rights::new(widest, rules, widest));
    let commands = ["cd secrets", "cat key", "cd .. && cat key"];
    let mut session = in_shell(&mut setup, ShellGuards::default(), &commands);
    std::fs::File::create(session.parts().tool_context.cwd.join("key")).unwrap();
    session.run_turn(on()).await;
    let requests = setup.model.requests();
    let messages = &requests.last().unwrap().messages;
    let results: Vec<_> = messages.iter().flat_map(results).collect();
    assert!(!results[0].2, "{results:?}");
    assert!(results[1].1.contains("Read(./secrets/**)"), "{results:?}");
}

/// Creates the repositories `repo` and `repo/other`. Returns guards with a wrapper of git.
fn with_repositories(setup: &Setup) -> ShellGuards {
    let base = setup.scratch.path().canonicalize().unwrap();
    for git in ["repo/.git", "repo/other/.git"] {
        let git = base.join(git);
        std::fs::create_dir_all(git.join("objects")).unwrap();
        std::fs::create_dir_all(git.join("refs")).unwrap();
        for (file, text) in [("HEAD", "ref: refs/heads/main\n"), ("config", "")] {
            swarm_os::replace_alone(&git.join(file), text.as_bytes()).unwrap();
        }
    }
    let shims = base.join("shims");
    std::fs::create_dir_all(&shims).unwrap();
    std::fs::File::create(shims.join("git")).unwrap();
    ShellGuards {
        shims: Some(shims),
        ..ShellGuards::default()
    }
}

#[tokio::test]
async fn nobody_is_asked_about_what_git_will_refuse() {
    let mut setup = Setup::new(Vec::new());
    setup.rights = rights(PermissionMode::Default);
    let guards = ShellGuards {
        sandbox: SandboxUse::Always,
        backend: Some(SandboxKind::Namespaces),
        helper: vec!["/nowhere/helper".to_owned()],
        ..with_repositories(&setup)
    };
    let commands = [
        "git bisect start",
        "make; git stash",
        "git gc",
        "git -C other stash",
        "cd other && git bisect start",
        "make || git stash",
    ];
    let mut session = in_shell(&mut setup, guards, &commands);
    setup.gate.answers.lock().extend([no(), no(), no()]);
    session.run_turn(on()).await;
    let asked = setup.gate.asked.lock().clone();
    let asked: Vec<_> = asked.iter().map(|asked| &asked.input["command"]).collect();
    assert_eq!(asked, commands[3..], "git may do it, or not run");
    let requests = setup.model.requests();
    let messages = &requests.last().unwrap().messages;
    let results: Vec<_> = messages.iter().flat_map(results).collect();
    let reasons = ["`git bisect` does not", "one stack", "`git gc` does not"];
    for (result, why) in results.iter().zip(reasons) {
        let text = &result.1;
        assert!(text.contains("was not run") && text.contains(why), "{text}");
    }
}

#[tokio::test]
async fn git_in_another_checkout_requires_approval_even_after_cd() {
    let mut setup = Setup::new(Vec::new());
    setup.rights = rights(PermissionMode::Default);
    let guards = with_repositories(&setup);
    let commands = ["git status", "cd other", "git status"];
    let mut session = in_shell(&mut setup, guards, &commands);
    setup.gate.answers.lock().extend([no(), no()]);
    session.run_turn(on()).await;
    let asked = setup.gate.asked.lock().clone();
    assert_eq!(asked.len(), 1, "{asked:?}");
    let why = &asked[0].why;
    assert!(why.contains("not the repository"), "{why}");
    assert!(
        why.contains("it starts in ") && why.contains("repo/other"),
        "{why}"
    );
}

#[tokio::test]
async fn a_permission_request_goes_to_the_gate_and_is_shown_as_a_state() {
    let log = Log::default();
    let setup = asking(&log);
    setup.gate.answers.lock().push_back(allow());
    setup.prompted().run_turn(on()).await;
    assert_eq!(log.lock().len(), 2);
    let asked = setup.gate.asked.lock().clone();
    let [
        PermissionRequest {
            tool_use_id,
            tool,
            input,
            description,
            why,
            ..
        },
    ] = &asked[..]
    else {
        panic!("{asked:?}");
    };
    assert_eq!((tool_use_id.as_str(), tool.as_str()), ("a", "Change"));
    assert_eq!(*input, json!({"text": "1"}));
    assert_eq!(description, "Change {\"text\":\"1\"}");
    assert!(!why.is_empty());
    let states: Vec<_> = setup
        .watcher
        .events()
        .into_iter()
        .filter_map(|event| match event {
            AgentEvent::State { state, detail } => Some((state, detail)),
            _ => None,
        })
        .collect();
    assert_eq!(
        states,
        [(MemberState::Working, None), (MemberState::Working, None),]
    );
}

#[tokio::test]
async fn a_denied_call_does_not_run_and_the_model_gets_the_reason() {
    let log = Log::default();
    let setup = asking(&log);
    let no = PermissionOutcome::deny("not on a Friday");
    setup.gate.answers.lock().push_back(no);
    setup.prompted().run_turn(on()).await;
    assert!(log.lock().is_empty());
    let request = setup.model.last_request();
    let got = results(&request.messages[2]);
    assert!(got[0].1.contains("not on a Friday") && got[0].2);
}

#[tokio::test]
async fn a_write_that_file_tools_refuse_in_every_mode_is_not_asked_about() {
    let mut setup = Setup::new(swarm_tools::builtin());
    setup.rights = rights(PermissionMode::Default);
    let root = setup.scratch.path().canonicalize().unwrap();
    let files = [
        (".credentials.json", "neither read nor write"),
        ("settings.json", "do not change it"),
    ];
    for (file, _) in files {
        let input = json!({"file_path": root.join(file), "content": "x"});
        setup.model.play([call([(file, "Write", input)])]);
    }
    setup.model.play([say("done")]);
    setup.gate.answers.lock().extend([no(), no()]);
    setup.prompted().run_turn(on()).await;
    assert!(setup.gate.asked.lock().is_empty());
    let request = setup.model.last_request();
    let found: Vec<_> = request.messages.iter().flat_map(results).collect();
    assert_eq!(found.len(), files.len(), "{found:?}");
    for ((_, words), (_, text, is_error)) in files.into_iter().zip(found) {
        assert!(is_error && text.contains(words), "{text}");
    }
}

#[tokio::test]
async fn a_deny_rule_applies_without_a_request() {
    let log = Log::default();
    let mut setup = asking(&log);
    let mut rules = RuleSet::default();
    rules.add(Behavior::Deny, Rule::parse("Change").unwrap(), "flag");
    setup.rights = Arc::new(Rights::new(
        PermissionMode::BypassPermissions,
        rules,
        PermissionMode::BypassPermissions,
    ));
    setup.prompted().run_turn(on()).await;
    assert!(log.lock().is_empty());
    assert!(setup.gate.asked.lock().is_empty());
    let request = setup.model.last_request();
    assert!(
        results(&request.messages[2])[0]
            .1
            .contains("permission denied")
    );
}

#[tokio::test]
async fn an_approval_may_change_the_input() {
    let log = Log::default();
    let setup = asking(&log);
    let answer = |input| PermissionOutcome::allow(Some(input));
    setup
        .gate
        .answers
        .lock()
        .extend([answer(json!({"text": "other"})), answer(json!("no object"))]);
    let mut session = setup.prompted();
    session.run_turn(on()).await;
    assert_eq!(*log.lock(), ["begin other", "end other"]);
    // Neither the model nor the person takes the result for that of the call as it was made.
    let request = setup.model.last_request();
    let (_, told, failed) = results(request.messages.last().unwrap())[0];
    let note = r#"[The call was changed with the approval. It was made with this input: {"text":"other"}]"#;
    assert!(told.starts_with(note) && !failed, "{told}");
    let notice = |event: &AgentEvent| match event {
        AgentEvent::Notice { line } => line.starts_with("changed with the approval: Change"),
        _ => false,
    };
    assert!(setup.watcher.events().iter().any(notice));

    setup
        .model
        .play([call([("b", "Change", json!({"text": "2"}))]), say("done")]);
    session.deliver(vec![Injected::prompt("again")]).unwrap();
    session.run_turn(on()).await;
    assert_eq!(log.lock().len(), 2);
    let request = setup.model.last_request();
    assert!(results(request.messages.last().unwrap())[0].2);
}

#[tokio::test]
async fn a_rule_or_a_mode_decides_a_call_that_waits_for_approval() {
    type Change = fn(&Rights);
    let changes: [(Change, bool); 2] = [
        (
            |rights: &Rights| assert!(rights.grant(&grant("Change"))),
            true,
        ),
        (
            |rights: &Rights| assert!(rights.set_mode(PermissionMode::DontAsk)),
            false,
        ),
    ];
    for (change, runs) in changes {
        let log = Log::default();
        let setup = asking(&log);
        let (waiting, rights) = (setup.gate.waiting.clone(), setup.rights.clone());
        let mut session = setup.prompted();
        tokio::join!(session.run_turn(on()), async move {
            waiting.notified().await;
            assert!(rights.grant(&grant("Other")));
            tokio::task::yield_now().await;
            change(&rights);
        });
        assert_eq!(setup.gate.asked.lock().len(), 1);
        let withdrawn = setup.gate.withdrawn.lock().clone();
        assert_eq!(withdrawn, ["a changed rule or mode decided it"]);
        assert_eq!(!log.lock().is_empty(), runs, "{:?}", log.lock());
    }
}

#[tokio::test]
async fn a_withdrawal_that_hangs_does_not_hold_an_interrupted_turn() {
    let log = Log::default();
    let mut setup = asking(&log);
    setup.gate = Arc::new(Gate {
        hangs: true,
        ..Gate::default()
    });
    let (gate, rights) = (setup.gate.clone(), setup.rights.clone());
    let mut session = setup.prompted();
    let cancel = on();
    tokio::join!(session.run_turn(cancel.clone()), async move {
        gate.waiting.notified().await;
        assert!(rights.grant(&grant("Change")));
        while gate.withdrawn.lock().is_empty() {
            tokio::task::yield_now().await;
        }
        cancel.cancel();
    });
    assert!(log.lock().is_empty(), "{:?}", log.lock());
}

#[tokio::test]
async fn deny_rules_apply_to_a_changed_input() {
    let log = Log::default();
    let mut setup = Setup::new(vec![shell(log.clone())]);
    let mut rules = RuleSet::default();
    rules.add(Behavior::Deny, Rule::parse("Bash(rm:*)").unwrap(), "flag");
    setup.rights = Arc::new(Rights::new(
        PermissionMode::Default,
        rules,
        PermissionMode::Default,
    ));
    setup.model.play([
        call([("a", "Bash", json!({"command": "make"}))]),
        say("done"),
    ]);
    let changed = PermissionOutcome::allow(Some(json!({"command": "rm -r build"})));
    setup.gate.answers.lock().push_back(changed);
    setup.prompted().run_turn(on()).await;
    assert_eq!(setup.gate.asked.lock().len(), 1);
    assert!(log.lock().is_empty());
    let request = setup.model.last_request();
    assert!(
        results(&request.messages[2])[0]
            .1
            .contains("permission denied")
    );
}

#[tokio::test]
async fn a_granted_rule_prevents_further_requests() {
    let log = Log::default();
    let mut setup = Setup::new(vec![change(log.clone())]);
    setup.rights = rights(PermissionMode::Default);
    setup.model.play([
        call([
            ("a", "Change", json!({"text": "1"})),
            ("b", "Change", json!({"text": "2"})),
        ]),
        say("done"),
    ]);
    let always = PermissionOutcome::Allow {
        updated_input: None,
        grants: vec![grant("Change")],
    };
    setup.gate.answers.lock().push_back(always);
    setup.prompted().run_turn(on()).await;
    assert_eq!(setup.gate.asked.lock().len(), 1);
    assert_eq!(log.lock().len(), 4);
}

#[tokio::test]
async fn a_permission_request_does_not_block_read_only_calls() {
    let log = Log::default();
    let mut setup = Setup::new(vec![change(log.clone()), echo()]);
    setup.rights = rights(PermissionMode::Default);
    setup.model.play([
        call([
            ("a", "Echo", json!({"text": "first"})),
            ("b", "Change", json!({"text": "1"})),
            ("c", "Echo", json!({"text": "last"})),
        ]),
        say("done"),
    ]);
    let cancel = on();
    let mut session = setup.prompted();
    let waiting = setup.gate.waiting.clone();
    let stop = cancel.clone();
    tokio::join!(session.run_turn(cancel), async move {
        waiting.notified().await;
        stop.cancel();
    });
    assert!(log.lock().is_empty(), "a late approval does not count");
    setup.model.play([say("next")]);
    session.deliver(vec![Injected::prompt("again")]).unwrap();
    session.run_turn(on()).await;
    let request = setup.model.last_request();
    assert_valid(&request.messages);
    let got = results(&request.messages[2]);
    assert_eq!(got[0], ("a", "first", false));
    assert!(got[1].1.contains("was not run") && got[2].1.contains("was not run"));
}

#[test]
fn the_mode_stays_under_its_ceiling() {
    let rights = Rights::new(
        PermissionMode::BypassPermissions,
        RuleSet::default(),
        PermissionMode::AcceptEdits,
    );
    assert_eq!(rights.mode(), PermissionMode::AcceptEdits);
    let up = Suggestion::SetMode {
        mode: PermissionMode::BypassPermissions,
        destination: Destination::Session,
    };
    assert!(!rights.grant(&up));
    assert!(rights.set_mode(PermissionMode::Plan));
    assert!(rights.set_mode(PermissionMode::AcceptEdits));
    assert_eq!(rights.mode(), PermissionMode::AcceptEdits);
    let broken = Suggestion::AddRules {
        rules: vec![RuleValue {
            tool_name: String::new(),
            rule_content: None,
        }],
        behavior: Behavior::Allow,
        destination: Destination::Session,
    };
    assert!(!rights.grant(&broken));
    assert!(rights.grant(&grant("Change")));
    assert_eq!(rights.rules().allow.len(), 1);
}
