//! Calls of an agent program, which asks before it runs them itself.

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::Value;
use swarm_permissions::HookEvent;
use swarm_protocol::ToolKind;
use swarm_tools::{Tool, ToolContext, ToolOutput, assume_read, one_line};
use tokio_util::sync::CancellationToken;

use super::call;
use super::runtime::Turn;
use super::types::{PreparedCall, Refusal, Verdict};
use crate::Session;

/// A call that an agent program announces before it runs it.
#[derive(Debug, Clone, PartialEq)]
pub struct ForeignCall {
    /// Id of the call in that program.
    pub id: String,
    /// The swarm tool with the same effect, such as `Bash`, or a name of the program's own. Rules
    /// and hooks know the call by it.
    pub tool: String,
    /// Input in the form of that tool.
    pub input: Value,
    /// One-line description.
    pub line: String,
    /// Effect of a tool that swarm does not have.
    pub kind: ToolKind,
}

impl Turn<'_> {
    /// Decides about a call as about one of swarm's own: `PreToolUse` hooks, rules and mode, and
    /// for what they leave open the `PermissionRequest` hooks and the gate. Returns the approved
    /// input, which a person or a hook may have changed. `cancel` withdraws a question about it.
    ///
    /// # Errors
    /// The reason why the call must not run, for the model.
    pub async fn permit(
        &self,
        call: &ForeignCall,
        cancel: &CancellationToken,
    ) -> Result<Value, String> {
        let verdict = self.verdict_on(call, cancel).await?;
        let resolved = self.session.resolve(&call.id, verdict, cancel).await;
        Ok(resolved.map_err(Refusal::text)?.input)
    }

    /// Runs a call with swarm's own tool, if it is permitted. `cancel` withdraws a question about it
    /// and stops the call.
    pub async fn run_tool(&self, call: &ForeignCall, cancel: CancellationToken) -> ToolOutput {
        let permitted = self.permit_own(call, &cancel).await;
        self.session.run_foreign(&call.id, permitted, cancel).await
    }

    /// Runs a call that a person approved before, if no rule or mode forbids it.
    /// `cancel` stops the call.
    pub async fn run_approved(&self, call: &ForeignCall, cancel: CancellationToken) -> ToolOutput {
        let session = &*self.session;
        let approved = session.foreign(call);
        let approved = approved.and_then(|ready| match session.decide(ready) {
            Verdict::Run(ready) | Verdict::Ask { ready, .. } => Ok(ready),
            Verdict::Refuse(refusal) => Err(refusal.text()),
        });
        session.run_foreign(&call.id, approved, cancel).await
    }

    /// Decides about a call that swarm's own tool runs, so that it is known what must fail.
    async fn permit_own(
        &self,
        call: &ForeignCall,
        cancel: &CancellationToken,
    ) -> Result<PreparedCall, String> {
        let verdict = self.verdict_on(call, cancel).await?;
        let verdict = self.session.refuse_impossible(verdict);
        let resolved = self.session.resolve(&call.id, verdict, cancel).await;
        resolved.map_err(Refusal::text)
    }

    /// Returns what hooks, rules and mode say about a call.
    async fn verdict_on(
        &self,
        call: &ForeignCall,
        cancel: &CancellationToken,
    ) -> Result<Verdict, String> {
        let session = &*self.session;
        let ready = session.foreign(call)?;
        let hooked = HookEvent::PreToolUse;
        let has_hooks = session.parts.hooks.any(hooked, Some(ready.tool.name()));
        Ok(if has_hooks {
            session.check_by_hooks(&call.id, ready, cancel).await.0
        } else {
            session.decide(ready)
        })
    }
}

impl Session {
    /// Returns the call with swarm's tool of that name. A tool that the agent's definition does not
    /// include is refused.
    fn foreign(&self, call: &ForeignCall) -> Result<PreparedCall, String> {
        let ready = match self.parts.tool(&call.tool) {
            Some(tool) => PreparedCall::new(tool, call.input.clone()),
            None if matches!(call.kind, ToolKind::Other | ToolKind::Team) => {
                let tool: Arc<dyn Tool> = Arc::new(AnnouncedTool(call.clone()));
                PreparedCall::new(&tool, call.input.clone())
            }
            None => {
                let (name, tool) = (&self.parts.name, &call.tool);
                return Err(format!(
                    "The call was not run: {name} does not have the tool `{tool}`."
                ));
            }
        };
        Ok(ready)
    }

    async fn run_foreign(
        &self,
        id: &str,
        permitted: Result<PreparedCall, String>,
        cancel: CancellationToken,
    ) -> ToolOutput {
        let ready = match permitted {
            Ok(ready) => ready,
            Err(why) => return ToolOutput::error(why),
        };
        let mut context = self.call_context();
        context.cancel = cancel;
        if let Some(path) = ready.input["file_path"].as_str() {
            // The agent program keeps track of the files that it has read.
            assume_read(path, &context);
        }
        id.clone_into(&mut context.tool_use_id);
        let note = ready.change_note().unwrap_or_default();
        let mut output = call::run(ready, context, self.parts.limits.cancel_grace).await;
        output.content.insert_str(0, &note);
        output
    }
}

/// A tool that only the agent program has. It exists for the decision about one call.
#[derive(Debug)]
struct AnnouncedTool(ForeignCall);

#[async_trait]
impl Tool for AnnouncedTool {
    fn name(&self) -> &str {
        &self.0.tool
    }

    fn description(&self) -> String {
        self.0.line.clone()
    }

    fn input_schema(&self) -> Value {
        Value::Null
    }

    fn kind(&self) -> ToolKind {
        self.0.kind
    }

    fn one_line(&self, _input: &Value) -> String {
        one_line(&self.0.line)
    }

    async fn call(&self, _input: Value, _ctx: &ToolContext) -> ToolOutput {
        ToolOutput::error("the agent program runs this call itself")
    }
}
