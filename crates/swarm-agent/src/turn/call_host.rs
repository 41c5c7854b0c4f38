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

use crate::context_files::ContextFiles;
use crate::{EventSink, PermissionGate, Rights, Session};

/// The host of one call: the agent's gate answers questions, its events report progress, and its
/// rights decide about calls of others.
#[derive(Debug)]
struct AgentCallHost {
    gate: Arc<dyn PermissionGate>,
    events: Arc<dyn EventSink>,
    tool_use_id: String,
    rights: Arc<Rights>,
    tools: Vec<Arc<dyn Tool>>,
    home: Option<PathBuf>,
    context: ToolContext,
}

impl Session {
    /// Returns the host of a call.
    pub(super) fn call_host(&self, tool_use_id: &str) -> Arc<dyn CallHost> {
        Arc::new(AgentCallHost {
            gate: Arc::clone(&self.parts.gate),
            events: Arc::clone(&self.parts.events),
            tool_use_id: tool_use_id.to_owned(),
            rights: Arc::clone(&self.parts.rights),
            tools: self.parts.tools.clone(),
            home: self.parts.home.clone(),
            context: self.parts.tool_context.clone(),
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

    async fn ask_network(&self, host: String, cancel: CancellationToken) -> Option<bool> {
        let request = PermissionRequest {
            tool_use_id: self.tool_use_id.clone(),
            tool: NETWORK_ACCESS.to_owned(),
            description: format!("{NETWORK_ACCESS} {host}"),
            input: json!({ "host": host }),
            why: "the sandbox permits only known hosts".to_owned(),
            suggestions: Vec::new(),
            next_mode: None,
        };
        match self.gate.ask(request, cancel).await {
            PermissionOutcome::Allow { .. } => Some(true),
            PermissionOutcome::Deny { answered, .. } => answered.then_some(false),
        }
    }

    fn progress(&self, line: String) {
        self.report_working(Some(line));
    }

    /// In the other agent's directory, the caller's relative rules still refer to its own.
    fn may_make(&self, call: &MemberCall<'_>) -> Result<(), String> {
        let named = |tool: &&Arc<dyn Tool>| tool.name() == call.tool;
        let Some(tool) = self.tools.iter().find(named) else {
            return Err(format!("you do not have the tool `{}`", call.tool));
        };
        let own = &self.context.cwd;
        let mut anchors = self.rights.anchors(own, None);
        if call.cwd != own {
            anchors = anchors.below(own, None);
        }
        let decision = self.rights.decide(&Question {
            tool: call.tool,
            input: call.input,
            cwd: call.cwd,
            starts_in: call.cwd,
            anchors: &anchors,
            home: self.home.as_deref(),
            touches: &tool.touches(call.input, call.cwd),
            files: &ContextFiles(&self.context),
            read_only: tool.is_read_only(call.input),
            kind: tool.kind(),
            ceiling: self.rights.highest_mode(),
        });
        match decision {
            Decision::Allow { .. } => Ok(()),
            Decision::Ask { why, .. } | Decision::Deny { why } => Err(why),
        }
    }
}
