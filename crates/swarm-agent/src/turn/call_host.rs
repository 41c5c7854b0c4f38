//! Services of an agent for a running tool call.

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::Value;
use swarm_permissions::{PermissionOutcome, PermissionRequest};
use swarm_protocol::{AgentEvent, MemberState};
use swarm_tools::{AskUserQuestion, CallHost, PersonAnswer, Tool as _, given_answers};
use tokio_util::sync::CancellationToken;

use crate::{EventSink, PermissionGate, Session};

/// The host of one call: the agent's gate answers questions, and its events report progress.
#[derive(Debug)]
struct AgentCallHost {
    gate: Arc<dyn PermissionGate>,
    events: Arc<dyn EventSink>,
    tool_use_id: String,
}

impl Session {
    /// Returns the host of a call.
    pub(super) fn call_host(&self, tool_use_id: &str) -> Arc<dyn CallHost> {
        Arc::new(AgentCallHost {
            gate: Arc::clone(&self.parts.gate),
            events: Arc::clone(&self.parts.events),
            tool_use_id: tool_use_id.to_owned(),
        })
    }
}

impl AgentCallHost {
    fn report_working(&self, detail: Option<String>) {
        let state = MemberState::Working;
        self.events.emit(AgentEvent::State { state, detail });
    }
}

#[async_trait]
impl CallHost for AgentCallHost {
    /// Asks like a call of `AskUserQuestion`.
    async fn ask(&self, input: Value, why: String, cancel: CancellationToken) -> PersonAnswer {
        let request = PermissionRequest {
            tool_use_id: self.tool_use_id.clone(),
            tool: AskUserQuestion.name().to_owned(),
            description: AskUserQuestion.one_line(&input),
            input,
            why,
            suggestions: Vec::new(),
            next_mode: None,
        };
        let outcome = self.gate.ask(request, cancel).await;
        self.report_working(None);
        match outcome {
            PermissionOutcome::Deny {
                why,
                answered: true,
            } => PersonAnswer::Refused(why),
            PermissionOutcome::Deny { .. } => PersonAnswer::Unanswered,
            PermissionOutcome::Allow { updated_input, .. } => {
                let answers = updated_input.as_ref().and_then(given_answers).cloned();
                match answers.filter(|answers| !answers.is_empty()) {
                    Some(answers) => PersonAnswer::Answered(answers),
                    None => PersonAnswer::Skipped,
                }
            }
        }
    }

    fn progress(&self, line: String) {
        self.report_working(Some(line));
    }
}
