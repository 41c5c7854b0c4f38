//! The user's hooks for the calls and turns of an agent.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use serde_json::{Value, json};
use swarm_agent::{Injected, InstructionSources, Session, TranscriptFile};
use swarm_model::ModelError;
use swarm_permissions::{InstructionSettings, ReadFilter, RuleSet};
use swarm_protocol::{Skill, SystemClock};
use swarm_tools::builtin;

use crate::model::{Reply, call, say};
use crate::setup::{Setup, hooks_in, on};
use crate::tools::{acting, echo, failing, long, stopping};

/// A setup with hooks, given as event, matcher and command line. Each hook records its input and
/// then runs its command line.
pub(crate) fn hooked(
    tools: Vec<Arc<dyn swarm_tools::Tool>>,
    hooks: &[(&str, &str, &str)],
) -> Setup {
    let mut setup = Setup::new(tools);
    let file = setup.scratch.path().join("hook_inputs.jsonl");
    let mut settings = json!({});
    for (event, matcher, line) in hooks {
        let command = format!("cat >> {}; {line}", file.display());
        let group = json!({"matcher": matcher, "hooks": [{"type": "command", "command": command}]});
        match settings[event].as_array_mut() {
            Some(groups) => groups.push(group),
            None => settings[event] = json!([group]),
        }
    }
    setup.hooks = hooks_in(setup.scratch.path(), &settings);
    setup
}

/// Returns the inputs of an event's hooks in order.
pub(crate) fn hook_inputs(setup: &Setup, event: &str) -> Vec<Value> {
    let file = setup.scratch.path().join("hook_inputs.jsonl");
    let text = std::fs::read_to_string(file).unwrap_or_default();
    let lines = text.lines().map(|line| serde_json::from_str(line).unwrap());
    lines
        .filter(|one: &Value| one["hook_event_name"] == event)
        .collect()
}

/// Returns a session with a prompt and its working directory `work`, which exists.
fn session_in_directory(setup: &Setup) -> (Session, PathBuf) {
    let work = setup.scratch.path().canonicalize().unwrap().join("work");
    std::fs::create_dir_all(&work).unwrap();
    let mut parts = setup.parts();
    parts.tool_context.cwd.clone_from(&work);
    parts.tool_context.env = Arc::new(BTreeMap::from([(
        "PATH".to_owned(),
        "/usr/bin:/bin".to_owned(),
    )]));
    let mut session = Session::open(setup.transcript(), parts).unwrap();
    let prompt = Injected::prompt("do it");
    session.deliver(vec![prompt]).unwrap();
    (session, work)
}

/// Returns the text of the last tool result.
pub(crate) fn last_result(setup: &Setup) -> String {
    let request = setup.model.last_request();
    let last = request.messages.last().unwrap();
    format!("{:?}", last.content)
}

#[tokio::test]
async fn a_matcher_applies_to_all_names_of_a_tool() {
    for (matcher, called) in [
        ("TaskStop", "KillShell"),
        ("KillShell", "TaskStop"),
        ("^TaskStop$", "KillShell"),
    ] {
        let guard = [("PreToolUse", matcher, "echo not that >&2; exit 2")];
        let setup = hooked(vec![stopping()], &guard);
        let stop = call([("a", called, json!({}))]);
        setup.model.play([stop, say("done")]);
        setup.prompted().run_turn(on()).await;
        let result = last_result(&setup);
        assert!(result.contains("a hook refuses it. not that"), "{result}");
        assert_eq!(
            hook_inputs(&setup, "PreToolUse")[0]["tool_name"],
            "TaskStop"
        );
    }
}

#[tokio::test]
async fn tool_responses_for_hooks_are_objects_as_in_claude_code() {
    let setup = hooked(builtin(), &[("PostToolUse", "*", "true")]);
    let (mut session, work) = session_in_directory(&setup);
    let path = work.join("a.txt");
    setup.model.play([
        call([
            (
                "1",
                "Write",
                json!({"file_path": path, "content": "one\ntwo\n"}),
            ),
            (
                "2",
                "Edit",
                json!({"file_path": path, "old_string": "two", "new_string": "2"}),
            ),
            ("3", "Read", json!({"file_path": path, "offset": 2})),
            ("4", "Bash", json!({"command": "echo out; echo err >&2"})),
            ("5", "Glob", json!({"pattern": "*.txt"})),
            ("6", "TodoWrite", json!({"todos": []})),
        ]),
        say("done"),
    ]);
    session.run_turn(on()).await;
    let inputs = hook_inputs(&setup, "PostToolUse");
    let responses: Vec<_> = inputs
        .iter()
        .map(|one| one["tool_response"].clone())
        .collect();
    assert_eq!(
        responses[..4],
        [
            json!({"type": "create", "filePath": path, "content": "one\ntwo\n"}),
            json!({"filePath": path, "oldString": "two", "newString": "2", "replaceAll": false,
                "userModified": false}),
            json!({"type": "text", "file": {"filePath": path, "content": "2", "numLines": 1, "startLine": 2,
                "totalLines": 2}}),
            json!({"stdout": "out\nerr", "stderr": "", "interrupted": false, "isImage": false}),
        ]
    );
    assert_eq!(responses[4]["numFiles"], 1, "{}", responses[4]);
    let plain = &responses[5]["content"][0];
    assert_eq!(plain["type"], "text", "{plain}");
    assert!(inputs.iter().all(|one| one["duration_ms"].is_u64()));
}

#[tokio::test]
async fn failure_hooks_receive_the_error_and_add_context() {
    let line = r#"echo '{"hookSpecificOutput": {"additionalContext": "try the other one"}}'"#;
    let setup = hooked(
        vec![failing(), echo()],
        &[
            ("PostToolUseFailure", "Failing|Echo", line),
            ("PostToolUse", "Failing", "true"),
        ],
    );
    let both = call([
        ("a", "Failing", json!({"x": 1})),
        ("b", "Echo", json!({"text": "hi"})),
    ]);
    setup.model.play([both, say("done")]);
    setup.prompted().run_turn(on()).await;
    let failures = hook_inputs(&setup, "PostToolUseFailure");
    assert_eq!(failures.len(), 1, "{failures:?}");
    let failure = &failures[0];
    assert_eq!(failure["tool_name"], "Failing");
    assert_eq!(failure["tool_input"], json!({"x": 1}));
    assert_eq!(failure["tool_use_id"], "a");
    assert_eq!(failure["error"], "it does not work");
    assert_eq!(failure["is_interrupt"], false);
    assert!(failure["duration_ms"].is_u64());
    assert!(hook_inputs(&setup, "PostToolUse").is_empty());
    let request = format!("{:?}", setup.model.last_request().messages);
    assert!(
        request.contains("A user hook says: try the other one"),
        "{request}"
    );
}

#[tokio::test]
async fn an_interrupted_call_is_marked_as_interrupt() {
    let started = Arc::new(tokio::sync::Notify::new());
    let mut setup = hooked(
        vec![long(started.clone(), false)],
        &[("PostToolUseFailure", "*", "true")],
    );
    setup.limits.cancel_grace = std::time::Duration::from_secs(20);
    setup.model.play([call([("a", "Long", json!({}))])]);
    let mut session = setup.prompted();
    let stop = on();
    let turn = session.run_turn(stop.clone());
    tokio::join!(turn, async {
        started.notified().await;
        stop.cancel();
    });
    assert_eq!(
        hook_inputs(&setup, "PostToolUseFailure")[0]["is_interrupt"],
        true
    );
}

#[tokio::test]
async fn a_batch_hook_runs_once_and_can_stop_the_turn() {
    let setup = hooked(
        vec![echo(), acting("Act")],
        &[("PostToolBatch", "", "echo enough >&2; exit 2")],
    );
    setup.model.play([call([
        ("a", "Echo", json!({"text": "hi"})),
        ("b", "Act", json!({})),
    ])]);
    let outcome = setup.prompted().run_turn(on()).await;
    assert_eq!(outcome.word(), "stopped_by_hook");
    assert_eq!(
        outcome.trouble().unwrap(),
        "a hook stopped the turn: enough"
    );
    let batches = hook_inputs(&setup, "PostToolBatch");
    assert_eq!(batches.len(), 1);
    assert_eq!(
        batches[0]["tool_calls"][0],
        json!({"tool_name": "Echo", "tool_input": {"text": "hi"}, "tool_use_id": "a",
            "tool_response": {"content": [{"type": "text", "text": "hi"}]}})
    );
    assert_eq!(batches[0]["tool_calls"][1]["tool_use_id"], "b");
}

#[tokio::test]
async fn context_of_a_batch_hook_is_in_the_next_request() {
    let line = r#"echo '{"hookSpecificOutput": {"additionalContext": "format it"}}'"#;
    let setup = hooked(vec![echo()], &[("PostToolBatch", "", line)]);
    setup
        .model
        .play([call([("a", "Echo", json!({"text": "hi"}))]), say("done")]);
    setup.prompted().run_turn(on()).await;
    let request = format!("{:?}", setup.model.last_request().messages);
    assert!(request.contains("format it"), "{request}");
}

#[tokio::test]
async fn stop_failure_hooks_receive_the_kind_of_error() {
    for (error, kind) in [
        (
            ModelError::RateLimited {
                message: "slow".into(),
                retry_after: None,
                attempts: 1,
            },
            "rate_limit",
        ),
        (ModelError::Billing("pay".into()), "billing_error"),
    ] {
        let setup = hooked(
            vec![],
            &[("StopFailure", kind, "true"), ("Stop", "", "true")],
        );
        setup.model.play([Reply::Events(vec![Err(error)])]);
        setup.prompted().run_turn(on()).await;
        let failure = &hook_inputs(&setup, "StopFailure")[0];
        assert_eq!(failure["error"], kind);
        let details = failure["error_details"].as_str().unwrap();
        assert!(!details.is_empty() && failure["last_assistant_message"] == details);
        assert!(hook_inputs(&setup, "Stop").is_empty());
    }
}

#[tokio::test]
async fn a_directory_change_of_the_shell_runs_hooks() {
    let setup = hooked(builtin(), &[("CwdChanged", "", "true")]);
    let (mut session, work) = session_in_directory(&setup);
    std::fs::create_dir(work.join("sub")).unwrap();
    setup.model.play([
        call([
            ("a", "Bash", json!({"command": "cd sub"})),
            ("b", "Bash", json!({"command": "pwd"})),
        ]),
        say("done"),
    ]);
    session.run_turn(on()).await;
    let changes = hook_inputs(&setup, "CwdChanged");
    assert_eq!(changes.len(), 1, "{changes:?}");
    assert_eq!(changes[0]["old_cwd"], json!(work));
    assert_eq!(changes[0]["new_cwd"], json!(work.join("sub")));
}

#[tokio::test]
async fn instruction_hooks_receive_the_load_reason() {
    let setup = hooked(builtin(), &[("InstructionsLoaded", "", "true")]);
    let (session, work) = session_in_directory(&setup);
    drop(session);
    let put = |path: &str, text: &str| {
        let path = work.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        swarm_os::replace_alone(&path, text.as_bytes()).unwrap();
    };
    put("CLAUDE.md", "Be brief. @more.md");
    put("more.md", "More.");
    put("sub/CLAUDE.md", "Below.");
    put(".claude/rules/rust.md", "---\npaths: '**/*.rs'\n---\nRust.");
    put("sub/a.rs", "fn main() {}");
    put(".git/HEAD", "");
    let mut parts = setup.parts();
    parts.tool_context.cwd.clone_from(&work);
    parts.instructions = Some(Arc::new(InstructionSources {
        settings: InstructionSettings {
            files: vec!["CLAUDE.md".into()],
            ..InstructionSettings::default()
        },
        managed: setup.scratch.path().join("none.md"),
        root: setup.scratch.path().join("root"),
        home: None,
        unreadable: ReadFilter::denials(&RuleSet::default(), &work, None),
    }));
    let path = setup.scratch.path().join("other.jsonl");
    let file = TranscriptFile::open(path, setup.author(), Arc::new(SystemClock)).unwrap();
    let mut session = Session::open(file, parts).unwrap();
    session.deliver(vec![Injected::prompt("do it")]).unwrap();
    let read = json!({"file_path": work.join("sub/a.rs")});
    setup.model.play([call([("a", "Read", read)]), say("done")]);
    session.run_turn(on()).await;
    let inputs = hook_inputs(&setup, "InstructionsLoaded");
    let of = |path: &str| {
        let path = json!(work.join(path));
        inputs
            .iter()
            .find(|one| one["file_path"] == path)
            .unwrap_or_else(|| panic!("{path}: {inputs:?}"))
    };
    let top = of("CLAUDE.md");
    assert_eq!(
        (&top["memory_type"], &top["load_reason"]),
        (&json!("Project"), &json!("session_start"))
    );
    let more = of("more.md");
    assert_eq!(more["load_reason"], "include");
    assert_eq!(more["parent_file_path"], json!(work.join("CLAUDE.md")));
    let below = of("sub/CLAUDE.md");
    assert_eq!(below["load_reason"], "nested_traversal");
    assert_eq!(below["trigger_file_path"], json!(work.join("sub/a.rs")));
    let rule = of(".claude/rules/rust.md");
    assert_eq!(rule["load_reason"], "path_glob_match");
    assert_eq!(rule["globs"], json!(["**/*.rs"]));
    assert_eq!(inputs.len(), 4, "{inputs:?}");
}

#[tokio::test]
async fn expansion_hooks_receive_the_skill_and_can_block_it() {
    let setup = hooked(
        vec![],
        &[
            ("UserPromptExpansion", "deploy", "echo not now >&2; exit 2"),
            ("UserPromptExpansion", "review", "echo look twice"),
        ],
    );
    let mut parts = setup.parts();
    let skills = ["deploy", "review"].map(|name| {
        let path = setup.scratch.path().join(name);
        swarm_os::replace_alone(&path, name.to_uppercase().as_bytes()).unwrap();
        Skill {
            name: name.into(),
            path,
            ..Skill::default()
        }
    });
    parts.skills = Arc::new(skills);
    let mut session = Session::open(setup.transcript(), parts).unwrap();
    let prompts = ["/deploy it now", "/review"].map(Injected::prompt).to_vec();
    let submitted = session.submit(vec![], prompts, &on()).await.unwrap();
    assert_eq!(submitted.withheld[0].why, "not now");
    let inputs = hook_inputs(&setup, "UserPromptExpansion");
    let first = &inputs[0];
    assert_eq!(first["expansion_type"], "slash_command");
    assert_eq!(first["command_name"], "deploy");
    assert_eq!(first["command_args"], "it now");
    assert_eq!(first["command_source"], "skill");
    assert_eq!(first["prompt"], "/deploy it now");
    setup.model.play([say("done")]);
    session.run_turn(on()).await;
    let heard = format!("{:?}", setup.model.last_request().messages);
    assert!(
        heard.contains("REVIEW") && heard.contains("look twice"),
        "{heard}"
    );
    assert!(!heard.contains("DEPLOY"), "{heard}");
}
