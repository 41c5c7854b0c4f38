//! Services of an agent for a running tool call.

use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use serde_json::{Value, json};
use swarm_permissions::{Decision, PermissionOutcome, PermissionRequest, Question};
use swarm_protocol::{AgentEvent, MemberState, NETWORK_ACCESS};
use swarm_tools::{
    AskUserQuestion, CallHost, MemberCall, PersonAnswer, Tool, ToolContext, given_answers,
};
use tokio_util::sync::CancellationToken;

use super::dispatch::kind_of;
use crate::context_files::ContextFiles;
use crate::{EventSink, PermissionGate, Rights, Session, Withdrawal};

/// The host of one call: the agent's gate answers questions, its events report progress, and its
/// rights decide about calls of others.
#[derive(Debug)]
struct AgentCallHost {
    gate: Arc<dyn PermissionGate>,
    events: Arc<dyn EventSink>,
    rights: Arc<Rights>,
    tools: Vec<Arc<dyn Tool>>,
    home: Option<PathBuf>,
    context: ToolContext,
    tool_use_id: String,
}

impl Session {
    pub(super) fn call_host(&self, tool_use_id: &str) -> Arc<dyn CallHost> {
        let parts = &self.parts;
        Arc::new(AgentCallHost {
            gate: Arc::clone(&parts.gate),
            events: Arc::clone(&parts.events),
            rights: Arc::clone(&parts.rights),
            tools: parts.tools.clone(),
            home: parts.home.clone(),
            context: parts.tool_context.clone(),
            tool_use_id: tool_use_id.to_owned(),
        })
    }
}

impl AgentCallHost {
    fn report_working(&self, detail: Option<String>) {
        let state = MemberState::Working;
        self.events.emit(AgentEvent::State { state, detail });
    }

    async fn request(
        &self,
        tool: &str,
        description: String,
        input: Value,
        why: String,
        cancel: CancellationToken,
    ) -> PermissionOutcome {
        let request = PermissionRequest {
            tool_use_id: self.tool_use_id.clone(),
            tool: tool.to_owned(),
            description,
            input,
            why,
            suggestions: Vec::new(),
            next_mode: None,
        };
        self.gate.ask(request, Withdrawal::on(cancel)).await
    }
}

#[async_trait]
impl CallHost for AgentCallHost {
    /// Asks like a call of `AskUserQuestion`.
    async fn ask(&self, input: Value, why: String, cancel: CancellationToken) -> PersonAnswer {
        let (tool, line) = (AskUserQuestion.name(), AskUserQuestion.one_line(&input));
        let outcome = self.request(tool, line, input, why, cancel).await;
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

    async fn ask_network(&self, host: String, cancel: CancellationToken) -> Option<bool> {
        let (line, input) = (format!("{NETWORK_ACCESS} {host}"), json!({ "host": host }));
        let why = "the sandbox permits only known hosts".to_owned();
        let answer = self.request(NETWORK_ACCESS, line, input, why, cancel);
        match answer.await {
            PermissionOutcome::Allow { .. } => Some(true),
            PermissionOutcome::Deny { answered, .. } => answered.then_some(false),
        }
    }

    fn progress(&self, line: String) {
        self.report_working(Some(line));
    }

    /// In the other agent's directory, the caller's relative rules still refer to its own.
    fn may_make(&self, call: &MemberCall<'_>) -> Result<(), String> {
        let rights = &self.rights;
        let Some(tool) = self.tools.iter().find(|tool| tool.name() == call.tool) else {
            return Err(format!("you do not have the tool `{}`", call.tool));
        };
        let own = &self.context.cwd;
        let mut anchors = rights.anchors(own, None);
        if call.cwd != own {
            anchors = anchors.below(own, None);
        }
        let decision = rights.decide(&Question {
            tool: call.tool,
            input: call.input,
            cwd: call.cwd,
            starts_in: call.cwd,
            anchors: &anchors,
            home: self.home.as_deref(),
            touches: &tool.touches(call.input, call.cwd),
            files: &ContextFiles(&self.context),
            read_only: tool.is_read_only(call.input),
            kind: kind_of(&**tool, call.input),
            ceiling: rights.highest_mode(),
        });
        match decision {
            Decision::Allow { .. } => Ok(()),
            Decision::Ask { why, .. } | Decision::Deny { why } => Err(why),
        }
    }
}
