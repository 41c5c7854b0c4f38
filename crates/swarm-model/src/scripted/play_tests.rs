//! Scenarios played request by request.

use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};
use swarm_protocol::Thinking;
use tokio_util::sync::CancellationToken;

use super::{Pace, ScriptedModel};
use crate::error::ModelError;
use crate::message::{ContentBlock, Message};
use crate::messages_api::played::collect_response;
use crate::model::{Model, ModelResponse, StopReason};
use crate::request::{ModelRequest, SystemBlock};
use crate::stored::stored;

pub(super) fn model_at(text: &str, pace: Pace) -> ScriptedModel {
    ScriptedModel::from_text(text, Path::new("/s/demo.toml"), pace).unwrap()
}

pub(super) fn model(text: &str) -> ScriptedModel {
    model_at(text, Pace::INSTANT)
}

pub(super) fn request(agent: &str, messages: &[Message]) -> ModelRequest {
    ModelRequest {
        model: "/s/demo.toml".into(),
        system: Arc::new([SystemBlock {
            text: "Working directory: /repo".into(),
            cache: true,
        }]),
        tools: Arc::default(),
        messages: stored(messages.to_vec()),
        max_tokens: 1000,
        thinking: Thinking::Off,
        effort: None,
        agent: agent.into(),
    }
}

pub(super) async fn ask(
    model: &ScriptedModel,
    agent: &str,
    messages: &[Message],
) -> Result<ModelResponse, ModelError> {
    collect_response(model.stream(request(agent, messages), CancellationToken::new())).await
}

pub(super) async fn said(model: &ScriptedModel, agent: &str, messages: &[Message]) -> String {
    ask(model, agent, messages).await.unwrap().text()
}

/// Returns the error of a request to a newly loaded model.
async fn refused(scenario: &str, agent: &str, messages: &[Message]) -> String {
    let refused = ask(&model(scenario), agent, messages).await;
    refused.unwrap_err().to_string()
}

fn calls(response: &ModelResponse) -> Vec<(&str, &Value)> {
    response
        .content
        .iter()
        .filter_map(|block| match block {
            ContentBlock::ToolUse { name, input, .. } => Some((name.as_str(), input)),
            _ => None,
        })
        .collect()
}

/// Returns the user message that answers every call of a response, with an optional text after the
/// results.
fn results(response: &ModelResponse, texts: &[&str], injected: Option<&str>) -> Message {
    let ids = response.content.iter().filter_map(|block| match block {
        ContentBlock::ToolUse { id, .. } => Some(id.clone()),
        _ => None,
    });
    let mut content: Vec<ContentBlock> = ids
        .zip(texts)
        .map(|(tool_use_id, text)| ContentBlock::ToolResult {
            tool_use_id,
            content: (*text).to_owned(),
            is_error: false,
        })
        .collect();
    content.extend(injected.map(ContentBlock::text));
    Message::user(content)
}

/// A conversation in which a newly loaded model gives every answer, as after a restart.
struct Talk {
    scenario: &'static str,
    agent: &'static str,
    messages: Vec<Message>,
}

impl Talk {
    fn new(scenario: &'static str, agent: &'static str, prompt: &str) -> Self {
        Self {
            scenario,
            agent,
            messages: vec![Message::user_text(prompt)],
        }
    }

    async fn answer(&mut self) -> ModelResponse {
        let response = ask(&model(self.scenario), self.agent, &self.messages).await;
        let again = ask(&model(self.scenario), self.agent, &self.messages).await;
        assert_eq!(response, again, "the answer to the same request is stable");
        let response = response.unwrap();
        let answer = Message::assistant(response.content.clone());
        self.messages.push(answer);
        response
    }

    fn results(&mut self, response: &ModelResponse, texts: &[&str], injected: Option<&str>) {
        self.messages.push(results(response, texts, injected));
    }
}

const WORK: &str = r#"
[[turn]]
agent = "explorer"
matches = 'task (?<id>\d+)'
system_matches = 'directory: (?<cwd>\S+)'

  [[turn.step]]
  think = "Task ${id}, hm."
  say = "I look at task ${id}."
  [[turn.step.call]]
  tool = "Read"
  input = { file_path = "${cwd}/src/lib.rs", limit = 5 }
  [[turn.step.call]]
  tool = "Bash"
  input = { command = "echo $HOME" }

  [[turn.step]]
  capture = 'line (?<line>\d+)'
  say = "Line ${line}; second result: ${result:2}"
  [[turn.step.call]]
  tool = "TaskUpdate"
  input = { taskId = "${id}" }

  [[turn.step]]
  say = "Task ${id} is done: line ${line}. ${result}"

  [[turn.interrupt]]
  contains = "hurry"
  resume = true
    [[turn.interrupt.step]]
    say = "I hurry, ${result:1}."
    [[turn.interrupt.step.call]]
    tool = "SendMessage"
    input = { to = "team-lead" }

  [[turn.interrupt]]
  matches = 'stop: (?<why>\w+)'
    [[turn.interrupt.step]]
    [[turn.interrupt.step.call]]
    tool = "SendMessage"
    [[turn.interrupt.step]]
    say = "Stopped because of ${why}."

[[turn]]
agent = "explorer"
contains = "thanks"
  [[turn.step]]
  say = "You are welcome."
"#;

#[tokio::test]
async fn a_turn_is_played_step_by_step_with_a_restart_before_every_step() {
    let mut talk = Talk::new(WORK, "explorer", "please do task 7 now");
    let first = talk.answer().await;
    let thinking = ContentBlock::Thinking {
        thinking: "Task 7, hm.".into(),
        signature: "scripted".into(),
    };
    assert_eq!(first.content[0], thinking);
    assert_eq!(first.text(), "I look at task 7.");
    let read = json!({"file_path":"/repo/src/lib.rs","limit":5});
    let bash = json!({"command":"echo $HOME"});
    assert_eq!(calls(&first), [("Read", &read), ("Bash", &bash)]);
    assert_eq!(first.stop_reason, StopReason::ToolUse);
    talk.results(&first, &["bug in line 12", "/root"], None);
    let second = talk.answer().await;
    assert_eq!(second.text(), "Line 12; second result: /root");
    talk.results(&second, &["updated"], None);
    let third = talk.answer().await;
    assert_eq!(third.text(), "Task 7 is done: line 12. updated");
    assert_eq!(third.stop_reason, StopReason::EndTurn);
    talk.messages.push(Message::user_text("thanks"));
    assert_eq!(talk.answer().await.text(), "You are welcome.");
}

#[tokio::test]
async fn call_ids_are_never_used_twice_in_a_conversation() {
    let mut talk = Talk::new(WORK, "explorer", "task 1");
    let mut ids = Vec::new();
    for _ in 0..2 {
        for texts in [vec!["line 1", "x"], vec!["ok"]] {
            let response = talk.answer().await;
            for block in &response.content {
                if let ContentBlock::ToolUse { id, .. } = block {
                    ids.push(id.clone());
                }
            }
            talk.results(&response, &texts, None);
        }
        talk.answer().await;
        talk.messages.push(Message::user_text("task 2"));
    }
    let mut unique = ids.clone();
    unique.sort();
    unique.dedup();
    assert_eq!((ids.len(), unique.len()), (6, 6), "{ids:?}");
    assert!(ids[0].starts_with("toolu_explorer_"), "{ids:?}");
}

#[tokio::test]
async fn text_next_to_results_does_not_restart_the_turn() {
    let mut talk = Talk::new(WORK, "explorer", "task 7");
    let first = talk.answer().await;
    talk.results(&first, &["line 3", "b"], Some("by the way: thanks, task 9"));
    assert_eq!(talk.answer().await.text(), "Line 3; second result: b");
}

#[tokio::test]
async fn an_interrupt_that_resumes_continues_the_turn_at_the_same_step() {
    let mut talk = Talk::new(WORK, "explorer", "task 7");
    let first = talk.answer().await;
    talk.results(&first, &["line 3", "b"], Some("hurry up"));
    let hurry = talk.answer().await;
    assert_eq!(hurry.text(), "I hurry, line 3.");
    talk.results(&hurry, &["sent"], Some("hurry up, I said"));
    let second = talk.answer().await;
    assert_eq!(
        second.text(),
        "Line 3; second result: b",
        "the step answers its own results, and an interrupt is played once"
    );
    talk.results(&second, &["updated"], None);
    let last = talk.answer().await.text();
    assert_eq!(last, "Task 7 is done: line 3. updated");
}

#[tokio::test]
async fn an_interrupt_that_does_not_resume_ends_the_turn() {
    let mut talk = Talk::new(WORK, "explorer", "task 7");
    let first = talk.answer().await;
    talk.results(&first, &["line 3", "b"], Some("hurry up"));
    let hurry = talk.answer().await;
    talk.results(&hurry, &["sent"], Some("stop: lunch"));
    let stop = talk.answer().await;
    assert_eq!(calls(&stop), [("SendMessage", &json!({}))]);
    talk.results(&stop, &["sent"], None);
    let last = talk.answer().await;
    assert_eq!(last.text(), "Stopped because of lunch.");
    assert_eq!(last.stop_reason, StopReason::EndTurn);
    talk.results(&first, &["surplus"], None);
    let error = refused(WORK, "explorer", &talk.messages).await;
    assert!(error.contains("only 2 steps"), "{error}");
}

#[tokio::test]
async fn an_answer_split_into_several_messages_counts_as_one() {
    let mut talk = Talk::new(WORK, "explorer", "task 7");
    let first = talk.answer().await;
    talk.messages.pop();
    for block in first.content.clone() {
        talk.messages.push(Message::assistant(vec![block]));
    }
    talk.results(&first, &["line 3", "b"], None);
    assert_eq!(talk.answer().await.text(), "Line 3; second result: b");
}

const CHOICE: &str = r#"
[[turn]]
agent = "lead"
seen_all = ["explorer done", "tester done"]
step = [{ say = "all done" }]

[[turn]]
agent = "lead"
nth = 1
step = [{ say = "first" }]

[[turn]]
agent = "lead"
contains = "red"
contains_all = ["green", "blue"]
step = [{ say = "colours" }]

[[turn]]
agent = "lead"
matches = 'a(?<x>b)?c'
step = [{ say = "[${x}] for ${agent}: ${prompt}" }]

[[turn]]
contains = "anybody"
step = [{ say = "me, ${agent}" }]
"#;

#[tokio::test]
async fn the_first_matching_turn_is_played() {
    let model = model(CHOICE);
    let lead = |texts: &'static [&'static str]| {
        let model = model.clone();
        async move {
            let mut messages = Vec::new();
            for text in texts {
                messages.push(Message::user_text(*text));
                messages.push(Message::assistant(vec![ContentBlock::text("ok")]));
            }
            messages.pop();
            said(&model, "lead", &messages).await
        }
    };
    assert_eq!(lead(&["red green blue"]).await, "first");
    assert_eq!(lead(&["x", "blue green red"]).await, "colours");
    assert_eq!(lead(&["x", "abc"]).await, "[b] for lead: abc");
    assert_eq!(lead(&["x", "ac"]).await, "[] for lead: ac");
    let done = lead(&["x", "explorer done", "tester done"]).await;
    assert_eq!(done, "all done");
    assert_eq!(lead(&["explorer done, tester done"]).await, "all done");
    let anybody = [Message::user_text("anybody?")];
    assert_eq!(said(&model, "tester", &anybody).await, "me, tester");
}

#[tokio::test]
async fn the_error_for_a_missing_turn_names_agent_and_text() {
    let long = format!("red {}", "é".repeat(300));
    let error = refused(CHOICE, "tester", &[Message::user_text(&long)]).await;
    for part in ["/s/demo.toml", "agent tester", "prompt 1", "red é"] {
        assert!(error.contains(part), "{error}");
    }
    assert_eq!(error.matches('é').count(), 116, "{error}");
    let without_prompt = ask(&model(CHOICE), "tester", &[]).await.unwrap_err();
    assert!(matches!(without_prompt, ModelError::Scenario(_)));
}

#[tokio::test]
async fn results_that_do_not_match_a_capture_are_an_error() {
    let mut talk = Talk::new(WORK, "explorer", "task 7");
    let first = talk.answer().await;
    talk.results(&first, &["permission denied", "b"], None);
    let error = refused(WORK, "explorer", &talk.messages).await;
    for part in ["line (?<line>", "at line 17", "permission denied"] {
        assert!(error.contains(part), "{error}");
    }
}

#[tokio::test]
async fn a_conversation_longer_than_its_turn_is_an_error_with_the_turns_line() {
    let mut talk = Talk::new(CHOICE, "lead", "hello");
    let response = talk.answer().await;
    let mut surplus = results(&response, &[], None);
    surplus.content.push(ContentBlock::ToolResult {
        tool_use_id: "x".into(),
        content: "y".into(),
        is_error: false,
    });
    talk.messages.push(surplus);
    let error = refused(CHOICE, "lead", &talk.messages).await;
    assert!(error.contains("only 1 steps"), "{error}");
    assert!(error.contains("line 7"), "{error}");
}

#[tokio::test]
async fn usage_grows_with_the_conversation() {
    let model = model(CHOICE);
    let short = ask(&model, "lead", &[Message::user_text("x")])
        .await
        .unwrap();
    let long = ask(&model, "lead", &[Message::user_text("x".repeat(400))])
        .await
        .unwrap();
    assert_eq!(long.usage.input_tokens, short.usage.input_tokens + 100);
    assert_eq!(short.usage.output_tokens, long.usage.output_tokens);
    assert!(short.usage.output_tokens > 0);
}
