//! User hooks of a member.

use serde_json::json;
use swarm_permissions::HookSettings;

use super::world::{World, bob, until};
use swarm_protocol::MemberState;
use swarm_testkit::{FakeModel, call, heard, say};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

#[tokio::test]
async fn hooks_run_in_the_project_that_was_trusted_and_not_where_the_member_works() {
    let mut world = World::new();
    let project = world.directory.path().canonicalize().unwrap().join("main");
    std::fs::create_dir(&project).unwrap();
    let hook = json!([{"hooks": [{"type": "command", "command": "pwd -P > ran; echo $CLAUDE_PROJECT_DIR >> ran"}]}]);
    world.agent_config.hooks = HookSettings::read(&json!({"Stop": hook}), "test").0;
    world.agent_config.project = Some(project.clone());
    let model = FakeModel::saying("done");
    let running = world.run(Some("go"), &model);
    world.idle(1).await;
    let ran = std::fs::read_to_string(project.join("ran")).unwrap();
    let at = project.display();
    assert_eq!(ran, format!("{at}\n{at}\n"));
    running.crash().await;
}

#[tokio::test]
async fn without_a_project_hooks_run_where_the_member_works() {
    let mut world = World::new();
    let hook = json!([{"hooks": [{"type": "command", "command": "touch ran"}]}]);
    world.agent_config.hooks = HookSettings::read(&json!({"Stop": hook}), "test").0;
    let running = world.run(Some("go"), &FakeModel::saying("done"));
    world.idle(1).await;
    assert!(world.directory.path().join("ran").exists());
    running.crash().await;
}

#[tokio::test]
async fn a_hook_that_stops_a_member_before_its_turn_is_reported_and_the_model_is_not_asked() {
    let stop = r#"echo '{"continue": false, "stopReason": "not today"}'"#;
    for event in ["SessionStart", "UserPromptSubmit"] {
        let mut world = World::new();
        let hook = json!([{"hooks": [{"type": "command", "command": stop}]}]);
        world.agent_config.hooks = HookSettings::read(&json!({ event: hook }), "test").0;
        let model = FakeModel::saying("done");
        let running = world.run(Some("go"), &model);
        let notices = world.idle(1).await;
        assert_eq!(
            notices[0].failure_reason.as_deref(),
            Some("a hook stopped the turn: not today"),
            "{event}"
        );
        assert!(model.requests().is_empty(), "{event}");
        world.in_state(MemberState::Failed).await;
        let report = world.crew().state(&bob()).await.unwrap().unwrap();
        let why = "a hook stopped the turn: not today";
        assert_eq!(report.detail.as_deref(), Some(why), "{event}");
        running.crash().await;
    }
}

#[tokio::test]
async fn the_reason_of_a_stop_hook_is_reported_to_the_lead() {
    let stop = r#"echo '{"continue": false, "stopReason": "enough for today"}'"#;
    let mut world = World::new();
    let hook = json!([{"hooks": [{"type": "command", "command": stop}]}]);
    world.agent_config.hooks = HookSettings::read(&json!({"Stop": hook}), "test").0;
    let running = world.run(Some("go"), &FakeModel::saying("done"));
    let notices = world.idle(1).await;
    assert_eq!(
        notices[0].result.as_deref(),
        Some("done\n\n[A Stop hook ended the turn: enough for today]")
    );
    running.crash().await;
}

#[tokio::test]
async fn a_person_is_notified_of_a_question_and_of_a_member_that_waits_for_input() {
    let mut world = World::new();
    let hook = json!([{"hooks": [{"type": "command", "command": "cat >> told"}]}]);
    world.agent_config.hooks = HookSettings::read(&json!({"Notification": hook}), "test").0;
    world.mode = swarm_protocol::PermissionMode::Default;
    let model = FakeModel::saying("nothing to do");
    let running = world.run(Some("go"), &model);
    world.in_state(MemberState::Idle).await;
    let told = |kind: &'static str| {
        let file = world.directory.path().join("told");
        until("the notification", move || {
            let text = std::fs::read_to_string(&file).unwrap_or_default();
            let lines = text
                .lines()
                .filter_map(|line| serde_json::from_str(line).ok());
            lines
                .into_iter()
                .find(|one: &serde_json::Value| one["notification_type"] == kind)
        })
    };
    let idle = told("idle_prompt").await;
    assert_eq!(idle["message"], "bob is waiting for your input");
    assert_eq!(idle["hook_event_name"], "Notification");
    model.then(call("Bash", json!({"command": "touch x"})));
    model.then(say("done"));
    world.say("act");
    world.in_state(MemberState::WaitingPermission).await;
    let asked = told("permission_prompt").await;
    let message = asked["message"].as_str().unwrap();
    assert!(
        message.starts_with("bob needs your permission: "),
        "{message}"
    );
    assert_eq!(asked["member"], "bob");
    running.crash().await;
}

#[tokio::test]
async fn a_server_is_posted_what_happens_and_its_answer_counts() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/hook", listener.local_addr().unwrap());
    let served = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut request = vec![0; 64 * 1024];
        let mut length = 0;
        while !String::from_utf8_lossy(&request[..length]).contains("tool_use_id") {
            length += stream.read(&mut request[length..]).await.unwrap();
        }
        let answer = r#"{"decision": "block", "reason": "the server says no"}"#;
        let head = format!(
            "HTTP/1.1 200 OK\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
            answer.len()
        );
        stream
            .write_all(format!("{head}{answer}").as_bytes())
            .await
            .unwrap();
        String::from_utf8_lossy(&request[..length]).into_owned()
    });
    let mut world = World::new();
    let hook = json!([{"matcher": "Bash", "hooks": [{"type": "http", "url": url}]}]);
    world.agent_config.hooks = HookSettings::read(&json!({"PreToolUse": hook}), "test").0;
    let model = std::sync::Arc::new(FakeModel::default());
    model.then(call("Bash", json!({"command": "touch made"})));
    model.then(say("done"));
    let running = world.run(Some("go"), &model);
    world.idle(1).await;
    let request = served.await.unwrap();
    assert!(request.starts_with("POST /hook HTTP/1.1"), "{request}");
    assert!(request.contains(r#""member":"bob""#), "{request}");
    let told = heard(&model.requests()[1]);
    assert!(
        told.contains("a hook refuses it. the server says no"),
        "{told}"
    );
    assert!(!world.directory.path().join("made").exists());
    running.crash().await;
}

#[tokio::test]
async fn a_model_decides_whether_a_turn_may_end() {
    let mut world = World::new();
    let hook =
        json!([{"hooks": [{"type": "prompt", "prompt": "Did it run the tests? $ARGUMENTS"}]}]);
    world.agent_config.hooks = HookSettings::read(&json!({"Stop": hook}), "test").0;
    let model = std::sync::Arc::new(FakeModel::default());
    model.then(say("written"));
    model.then(say(r#"{"ok": false, "reason": "run the tests"}"#));
    model.then(say("tests are green"));
    model.then(say(r#"{"ok": true}"#));
    let running = world.run(Some("go"), &model);
    world.idle(1).await;
    let requests = model.requests();
    assert_eq!(requests.len(), 4);
    assert!(heard(&requests[1]).contains(r#""last_assistant_message":"written""#));
    assert!(requests[1].tools.is_empty());
    assert!(heard(&requests[2]).contains("a user hook says: run the tests"));
    running.crash().await;
}

#[tokio::test]
async fn hooks_hear_of_files_and_settings_that_change() {
    let mut world = World::new();
    let hook = json!([{"matcher": ".envrc|gone.txt", "hooks": [{"type": "command", "command": "cat >> told"}]}]);
    let config = json!([{"matcher": "user_settings", "hooks": [{"type": "command", "command": "cat >> told"}]}]);
    let hooks = json!({"FileChanged": hook, "ConfigChange": config});
    world.agent_config.hooks = HookSettings::read(&hooks, "test").0;
    let at = |name: &str| world.directory.path().join(name);
    let put = |name: &str, text: &str| swarm_os::replace_alone(&at(name), text.as_bytes()).unwrap();
    put("gone.txt", "x");
    let running = world.run(Some("go"), &FakeModel::saying("done"));
    world.idle(1).await;
    put(".envrc", "a");
    std::fs::remove_file(at("gone.txt")).unwrap();
    put("root/settings.json", "{}");
    put("other.txt", "x");
    let told = until("the changes", || {
        let text = std::fs::read_to_string(at("told")).unwrap_or_default();
        let lines: Vec<serde_json::Value> = text
            .lines()
            .filter_map(|line| serde_json::from_str(line).ok())
            .collect();
        (lines.len() >= 3).then_some(lines)
    })
    .await;
    let has = |field: &str, value: &str, file: &str| {
        let file = json!(at(file));
        told.iter()
            .any(|one| one[field] == value && one["file_path"] == file)
    };
    assert!(has("event", "add", ".envrc"), "{told:?}");
    assert!(has("event", "unlink", "gone.txt"), "{told:?}");
    assert!(
        has("source", "user_settings", "root/settings.json"),
        "{told:?}"
    );
    assert!(told.iter().all(|one| one["member"] == "bob"));
    running.crash().await;
}
