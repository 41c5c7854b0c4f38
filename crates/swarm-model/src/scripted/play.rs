//! The scripted model, which answers from a scenario file.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use swarm_protocol::Usage;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::file::FailKind;
use super::load::load;
use super::pace::Pace;
use super::position::{Position, locate};
use super::scenario::{Captured, Fail, Scenario, ScenarioError, Step, Turn};
use super::situation::{Situation, beginning};
use super::template::Values;
use crate::drive::{Emitter, drive};
use crate::error::ModelError;
use crate::message::{ContentBlock, Message};
use crate::model::{Model, ModelEvent, ModelEvents, ModelResponse};
use crate::name::Provider;
use crate::remote::{Cause, Transient};
use crate::request::ModelRequest;
use crate::stored::StoredMessage;

/// A model that plays a scenario file. Clones share the scenario.
#[derive(Debug, Clone)]
pub(crate) struct ScriptedModel {
    scenario: Arc<Scenario>,
    pace: Pace,
}

impl ScriptedModel {
    /// Reads and validates a scenario file.
    pub(crate) fn from_file(path: &Path, pace: Pace) -> Result<Self, ScenarioError> {
        let text = fs::read_to_string(path).map_err(|error| ScenarioError::Unreadable {
            path: path.to_owned(),
            message: error.to_string(),
        })?;
        Self::from_text(&text, path, pace)
    }

    /// Reads and validates the text of a scenario; errors name `path`.
    pub(crate) fn from_text(text: &str, path: &Path, pace: Pace) -> Result<Self, ScenarioError> {
        Ok(Self {
            scenario: Arc::new(load(text, path)?),
            pace,
        })
    }
}

impl Model for ScriptedModel {
    fn stream(&self, request: ModelRequest, cancel: CancellationToken) -> ModelEvents {
        let model = self.clone();
        drive(cancel, move |emit| async move {
            let answer = ScriptedAnswer::choose(&model.scenario, &request)?;
            answer.play(&emit, &model).await
        })
    }
}

/// One answer with all templates filled in.
#[derive(Debug)]
struct ScriptedAnswer {
    wait: Duration,
    fail: Option<Fail>,
    response: ModelResponse,
}

impl ScriptedAnswer {
    /// Finds the answer to a request: the next step of the first turn that matches.
    fn choose(scenario: &Scenario, request: &ModelRequest) -> Result<Self, ModelError> {
        let messages: Vec<Message> = request.messages.iter().map(|one| one.message()).collect();
        let path = scenario.path.display();
        let agent = request.agent.as_str();
        let situation = Situation::read(&messages).ok_or_else(|| {
            ModelError::Scenario(format!(
                "the scenario {path} cannot answer {agent}: the conversation has no prompt"
            ))
        })?;
        let (turn, captured) = find(scenario, request, &situation).ok_or_else(|| {
            ModelError::Scenario(format!(
                "the scenario {path} has no turn for agent {agent} at prompt {}: {:?}. Add a [[turn]] that matches",
                situation.nth,
                beginning(&situation.prompt)
            ))
        })?;
        let turn_error =
            |why| ModelError::Scenario(format!("the scenario {path}, agent {agent}: {why}"));
        let position = locate(turn, captured, situation.after).map_err(turn_error)?;
        Self::write(position, &situation, request).map_err(turn_error)
    }

    fn write(
        position: Position<'_>,
        situation: &Situation<'_>,
        request: &ModelRequest,
    ) -> Result<Self, String> {
        let step = position.step;
        let mut values = Values {
            named: position.captured,
            results: position.results,
        };
        values
            .named
            .insert("agent".to_owned(), request.agent.clone());
        values
            .named
            .insert("prompt".to_owned(), situation.prompt.clone());
        let content = content(step, &values, &request.agent, situation.answers)
            .map_err(|why| format!("cannot fill in the step at line {}: {why}", step.line))?;
        Ok(Self {
            wait: step.wait,
            fail: step.fail.clone(),
            response: ModelResponse {
                usage: usage(request, &content),
                content,
                stop_reason: step.stop.clone(),
                model: request.model.clone(),
            },
        })
    }

    async fn play(
        self,
        emit: &Emitter,
        model: &ScriptedModel,
    ) -> Result<ModelResponse, ModelError> {
        let pace = model.pace;
        let streamer = TextStreamer {
            emit,
            delay: pace.scaled(model.scenario.chunk_delay),
        };
        pause(pace.scaled(self.wait)).await;
        if let Some(fail) = &self.fail {
            self.play_failures(fail, &streamer, pace).await?;
        }
        streamer.stream_response(&self.response).await;
        Ok(self.response)
    }

    /// Simulates the failures of a step, with retries as in a real client.
    async fn play_failures(
        &self,
        fail: &Fail,
        streamer: &TextStreamer<'_>,
        pace: Pace,
    ) -> Result<(), ModelError> {
        let wait = pace.scaled(fail.wait);
        for attempt in 0..fail.times.unwrap_or(1) {
            if fail.after_text {
                streamer.stream_text(&self.response).await;
            }
            if fail.times.is_none() {
                return Err(fail.error(&self.response.model));
            }
            streamer.emit.emit(ModelEvent::Retrying {
                attempt: attempt + 2,
                wait,
                reason: fail.message.clone(),
                is_overload: false,
            });
            pause(wait).await;
        }
        Ok(())
    }
}

fn find<'a>(
    scenario: &'a Scenario,
    request: &ModelRequest,
    situation: &Situation<'_>,
) -> Option<(&'a Turn, Captured)> {
    let system: Vec<&str> = request
        .system
        .iter()
        .map(|block| block.text.as_str())
        .collect();
    let system = system.join("\n");
    scenario.turns.iter().find_map(|turn| {
        let captured = turn.when.check(&request.agent, &system, situation)?;
        Some((turn, captured))
    })
}

fn content(
    step: &Step,
    values: &Values,
    agent: &str,
    answers: usize,
) -> Result<Vec<ContentBlock>, String> {
    let mut content = Vec::new();
    if let Some(think) = &step.think {
        content.push(ContentBlock::Thinking {
            thinking: think.fill(values)?,
            signature: "scripted".to_owned(),
        });
    }
    if let Some(say) = &step.say {
        content.push(ContentBlock::text(say.fill(values)?));
    }
    for (index, call) in step.calls.iter().enumerate() {
        content.push(ContentBlock::ToolUse {
            // Stable across restarts, and unique within this agent's conversation.
            id: format!("toolu_{agent}_{}_{}", answers + 1, index + 1),
            name: call.tool.clone(),
            input: call.input.fill(values)?,
        });
    }
    Ok(content)
}

/// Returns deterministic token counts: four bytes of JSON per token.
fn usage(request: &ModelRequest, content: &[ContentBlock]) -> Usage {
    const BYTES_PER_TOKEN: usize = 4;
    let json = |value: Result<String, _>| value.map_or(0, |value: String| value.len());
    let system: usize = request.system.iter().map(|block| block.text.len()).sum();
    let tools: usize = request
        .tools
        .iter()
        .map(|tool| tool.description.len() + tool.input_schema.json().len())
        .sum();
    let messages: Vec<&StoredMessage> = request.messages.iter().map(|one| &**one).collect();
    let input = system + tools + json(serde_json::to_string(&messages));
    let output = json(serde_json::to_string(content));
    let tokens = |bytes: usize| u64::try_from(bytes.div_ceil(BYTES_PER_TOKEN)).unwrap_or(u64::MAX);
    Usage {
        input_tokens: tokens(input),
        output_tokens: tokens(output),
        ..Usage::default()
    }
}

/// Streams an answer word by word.
struct TextStreamer<'a> {
    emit: &'a Emitter,
    delay: Duration,
}

impl TextStreamer<'_> {
    async fn stream_response(&self, response: &ModelResponse) {
        self.stream_text(response).await;
        for block in &response.content {
            if let ContentBlock::ToolUse { id, name, .. } = block {
                self.emit.emit(ModelEvent::ToolUseStarted {
                    id: id.clone(),
                    name: name.clone(),
                });
            }
        }
    }

    async fn stream_text(&self, response: &ModelResponse) {
        for block in &response.content {
            match block {
                ContentBlock::Thinking { thinking, .. } => {
                    self.words(thinking, ModelEvent::ThinkingDelta).await;
                }
                ContentBlock::Text { text } => self.words(text, ModelEvent::TextDelta).await,
                _ => {}
            }
        }
    }

    async fn words(&self, text: &str, event: fn(String) -> ModelEvent) {
        for word in text.split_inclusive(char::is_whitespace) {
            self.emit.emit(event(word.to_owned()));
            pause(self.delay).await;
        }
    }
}

async fn pause(delay: Duration) {
    if !delay.is_zero() {
        sleep(delay).await;
    }
}

impl Fail {
    pub(super) fn error(&self, model: &str) -> ModelError {
        let message = self.message.clone();
        let (provider, attempts) = (Provider::Scripted, 1);
        let cause = match self.kind {
            FailKind::Auth => return ModelError::Auth { provider, message },
            FailKind::Billing => return ModelError::Billing(message),
            FailKind::UnknownModel => {
                let model = model.to_owned();
                return ModelError::UnknownModel { model, message };
            }
            FailKind::InvalidRequest => return ModelError::InvalidRequest(message),
            FailKind::ContextTooLong => return ModelError::ContextTooLong(message),
            FailKind::BadStream => return ModelError::BadStream { message, attempts },
            FailKind::RateLimited => Cause::RateLimit,
            FailKind::Overloaded => Cause::Overload,
            FailKind::Server => Cause::Server,
            FailKind::Network => Cause::Connection,
            FailKind::IdleTimeout => Cause::Silence(self.wait),
        };
        let failure = Transient {
            cause,
            message,
            retry_after: None,
        };
        failure.give_up(provider, "the scenario", attempts)
    }
}
