//! Hooks of the types `http` and `prompt`.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use parking_lot::Mutex;
use serde_json::{Value, json};
use swarm_permissions::{HookEvent, HookSettings};
use swarm_protocol::WebAnswer;
use tokio_util::sync::CancellationToken;

use crate::{HookInput, HookOutcome, HookRequest, HookServices, Hooks, HooksParts};

/// Returns a fixed answer and records the requests.
#[derive(Debug, Default)]
struct FakeServices {
    status: u16,
    answer: String,
    posted: Mutex<Vec<HookRequest>>,
    asked: Mutex<Vec<(Option<String>, String)>>,
    is_silent: bool,
}

#[async_trait]
impl HookServices for FakeServices {
    async fn post(&self, request: HookRequest) -> Result<WebAnswer, String> {
        self.posted.lock().push(request);
        match self.status {
            0 => Err("failed: connection refused".to_owned()),
            status => Ok(WebAnswer {
                status,
                body: self.answer.clone().into_bytes(),
                ..WebAnswer::default()
            }),
        }
    }

    async fn ask(
        &self,
        model: Option<&str>,
        _system: &str,
        question: &str,
        cancel: &CancellationToken,
    ) -> Result<String, String> {
        let asked = (model.map(str::to_owned), question.to_owned());
        self.asked.lock().push(asked);
        if self.is_silent {
            cancel.cancelled().await;
        }
        Ok(self.answer.clone())
    }
}

async fn run(fake: &Arc<FakeServices>, event: HookEvent, hook: &Value) -> HookOutcome {
    let hooks = json!({event.name(): [{"hooks": [hook]}]});
    let (settings, remarks) = HookSettings::read(&hooks, "a test");
    assert!(remarks.is_empty(), "{remarks:?}");
    let hooks = Hooks::new(HooksParts {
        settings,
        env: BTreeMap::from([
            ("TOKEN".to_owned(), "t0".to_owned()),
            ("OTHER".to_owned(), "secret".to_owned()),
        ]),
        project: PathBuf::from("/"),
        notice: Arc::new(|_| {}),
        services: Some(Arc::clone(fake) as Arc<dyn HookServices>),
        sandbox: None,
    });
    let fields = json!({"tool_name": "Bash"});
    let never = CancellationToken::new();
    hooks
        .run(event, None, &HookInput::default(), &fields, &never)
        .await
}

fn http() -> Value {
    json!({"type": "http", "url": "http://127.0.0.1:1/hook", "timeout": 7, "allowedEnvVars": ["TOKEN"],
        "headers": {"Authorization": "Bearer ${TOKEN}", "X": "$TOKEN-$OTHER $"}})
}

#[tokio::test]
async fn a_request_has_the_input_as_body_and_only_allowed_variables_in_headers() {
    let fake = Arc::new(FakeServices {
        status: 200,
        ..FakeServices::default()
    });
    let outcome = run(&fake, HookEvent::PreToolUse, &http()).await;
    assert_eq!(
        outcome,
        HookOutcome {
            ran: 1,
            ..HookOutcome::default()
        }
    );
    let posted = fake.posted.lock();
    let body: Value = serde_json::from_str(&posted[0].body).unwrap();
    assert_eq!(
        (&body["hook_event_name"], &body["tool_name"]),
        (&json!("PreToolUse"), &json!("Bash"))
    );
    assert_eq!(posted[0].url, "http://127.0.0.1:1/hook");
    assert_eq!(posted[0].timeout.as_secs(), 7);
    assert_eq!(posted[0].headers["Authorization"], "Bearer t0");
    assert_eq!(posted[0].headers["X"], "t0- $");
}

#[tokio::test]
async fn a_response_is_interpreted_like_command_output_and_an_error_does_not_block() {
    let said = |status, answer: &str| {
        let fake = Arc::new(FakeServices {
            status,
            answer: answer.to_owned(),
            ..FakeServices::default()
        });
        async move { run(&fake, HookEvent::PreToolUse, &http()).await }
    };
    let deny = r#"{"hookSpecificOutput": {"permissionDecision": "deny", "permissionDecisionReason": "no"}}"#;
    assert_eq!(said(200, deny).await.refusal().unwrap(), "no");
    assert_eq!(said(204, "plain").await.printed, ["plain"]);
    for (status, why) in [(403, "HTTP status 403"), (0, "connection refused")] {
        let outcome = said(status, deny).await;
        assert_eq!(outcome.refusal(), None);
        assert!(outcome.failures[0].contains(why), "{outcome:?}");
    }
    let path =
        r#"{"hookSpecificOutput": {"hookEventName": "WorktreeCreate", "worktreePath": "/w"}}"#;
    let fake = Arc::new(FakeServices {
        status: 200,
        answer: path.to_owned(),
        ..FakeServices::default()
    });
    let made = run(&fake, HookEvent::WorktreeCreate, &http()).await;
    assert_eq!(made.worktree_path.unwrap(), "/w");
}

#[tokio::test]
async fn a_negative_decision_of_a_model_blocks_with_its_reason() {
    let answer = "```json\n{\"ok\": false, \"reason\": \"run the tests\"}\n```";
    let fake = Arc::new(FakeServices {
        answer: answer.to_owned(),
        ..FakeServices::default()
    });
    let hook = json!({"type": "prompt", "prompt": "Done? $ARGUMENTS", "model": "haiku"});
    let outcome = run(&fake, HookEvent::Stop, &hook).await;
    assert_eq!(outcome.block.unwrap(), "run the tests");
    let asked = fake.asked.lock().remove(0);
    assert_eq!(asked.0.unwrap(), "haiku");
    assert!(
        asked.1.starts_with("Done? {") && asked.1.contains(r#""hook_event_name":"Stop""#),
        "{}",
        asked.1
    );
    for (hook, block, stop) in [
        (
            json!({"type": "prompt", "prompt": "x"}),
            None,
            Some("run the tests"),
        ),
        (
            json!({"type": "prompt", "prompt": "x", "continueOnBlock": true}),
            Some("run the tests"),
            None,
        ),
    ] {
        let outcome = run(&fake, HookEvent::PostToolUse, &hook).await;
        assert_eq!(
            (outcome.block.as_deref(), outcome.stop.as_deref()),
            (block, stop)
        );
    }
}

#[tokio::test]
async fn a_positive_or_unclear_decision_of_a_model_does_not_block() {
    let hook = json!({"type": "prompt", "prompt": "Done?"});
    for (answer, fails) in [
        (r#"{"ok": true}"#, false),
        (
            r#"{"ok": false, "impossible": true, "reason": "never"}"#,
            false,
        ),
        ("I think so", true),
    ] {
        let fake = Arc::new(FakeServices {
            answer: answer.to_owned(),
            ..FakeServices::default()
        });
        let outcome = run(&fake, HookEvent::Stop, &hook).await;
        assert_eq!(
            (outcome.block, outcome.failures.len()),
            (None, usize::from(fails)),
            "{answer}"
        );
        assert!(fake.asked.lock()[0].1.starts_with("Done?\n\n{"));
    }
}

#[tokio::test(start_paused = true)]
async fn a_prompt_hook_times_out() {
    let fake = Arc::new(FakeServices {
        is_silent: true,
        ..FakeServices::default()
    });
    let hook = json!({"type": "prompt", "prompt": "Done?", "timeout": 3});
    let outcome = run(&fake, HookEvent::Stop, &hook).await;
    assert!(
        outcome.failures[0].contains("timed out after 3 s"),
        "{outcome:?}"
    );
}
