//! Running the calls of one answer, in order.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use futures::{StreamExt, stream};
use serde_json::{Value, json};
use swarm_model::ContentBlock;
use swarm_permissions::{Decision, HookEvent, Question};
use swarm_protocol::AgentEvent;
use swarm_tools::{Attachment, ModeSwitch, Tool, ToolContext, ToolOutput, Workplace};
use tokio_util::sync::CancellationToken;

use super::call;
use super::hooks::add_context;
use super::signals::TurnSignals;
use super::step::{Call, CallInput};
use super::tool_hooks::Ran;
use super::types::{Ready, Refusal, TurnStop, Verdict};
use crate::context_files::ContextFiles;
use crate::fork::{Held, Origin, inherited};
use crate::transcript::Entry;
use crate::{AgentTool, Session};

/// What became of a call.
struct Answered {
    result: ContentBlock,
    /// The call as hooks of the whole batch are told of it, if there are any.
    told: Option<Value>,
}

impl Session {
    /// Runs calls: neighbours that only read, or are agents, at the same time, the others one by one. Each result is on disk before
    /// the next call begins, so that a crash leaves as few calls in doubt as can be.
    pub(super) async fn dispatch(
        &mut self,
        calls: Vec<Call>,
        signals: &TurnSignals,
    ) -> Result<(), TurnStop> {
        let _held = self.hold_fork_point(&calls);
        let mut waiting: VecDeque<Call> = calls.into();
        let mut batch = Vec::new();
        while let Some(next) = waiting.pop_front() {
            if signals.is_over() {
                let ids: Vec<_> = std::iter::once(next)
                    .chain(waiting)
                    .map(|call| call.id)
                    .collect();
                self.leave_unrun(&ids)?;
                return Err(TurnStop::Interrupted);
            }
            let directory = self.watched_directory();
            let mut results = Vec::new();
            for answered in self.run_next(next, &mut waiting, &signals.cancel).await {
                results.push(answered.result);
                batch.extend(answered.told);
            }
            results.extend(self.instructions_for_touched().map(ContentBlock::text));
            self.append(Entry::user(results))?;
            if let Some(before) = directory {
                self.note_directory(&before);
            }
            self.fire_noted(&signals.cancel).await;
            if let Some(why) = self.take_halt() {
                let ids: Vec<_> = waiting.into_iter().map(|call| call.id).collect();
                self.leave_unrun(&ids)?;
                return Err(TurnStop::Halted(why));
            }
            if !waiting.is_empty() {
                self.interject(signals).await?;
            }
        }
        self.looked_at_together(batch, &signals.cancel).await
    }

    /// Lets agents that these calls start begin with this conversation.
    fn hold_fork_point(&self, calls: &[Call]) -> Option<Held> {
        if !calls.iter().any(|call| AgentTool::is_called(&call.tool)) {
            return None;
        }
        Some(self.parts.forks.hold(Origin {
            head: self.head.clone(),
            tools: self.parts.tools.clone(),
            messages: inherited(&self.history.for_model()),
        }))
    }

    /// Runs the next call, and those behind it that may run beside it.
    async fn run_next(
        &self,
        next: Call,
        waiting: &mut VecDeque<Call>,
        cancel: &CancellationToken,
    ) -> Vec<Answered> {
        let verdict = self.judge(&next);
        let mut together = self.may_share(&next, &verdict);
        let mut batch = vec![(next, verdict)];
        while together && let Some(call) = waiting.pop_front() {
            let verdict = self.judge(&call);
            together = self.may_share(&call, &verdict);
            if together {
                batch.push((call, verdict));
            } else {
                // Judged again when its turn comes: what runs until then may change the answer.
                waiting.push_front(call);
            }
        }
        let runs: Vec<_> = batch
            .into_iter()
            .map(|(call, verdict)| self.run(call, verdict, cancel))
            .collect();
        let at_once = self.parts.limits.parallel_calls.max(1);
        stream::iter(runs).buffered(at_once).collect().await
    }

    /// Whether a call may be handled beside others. One whose input a hook may change is handled alone: it could become
    /// one that changes something.
    fn may_share(&self, call: &Call, verdict: &Verdict) -> bool {
        let tool = self.tool_name(call);
        let hooked = self.parts.hooks.any(HookEvent::PreToolUse, Some(tool));
        verdict.runs_in_parallel() && !hooked
    }

    /// Runs one call to its result and shows both.
    async fn run(&self, call: Call, verdict: Verdict, cancel: &CancellationToken) -> Answered {
        self.emit(AgentEvent::ToolStarted {
            id: call.id.clone(),
            tool: call.tool.clone(),
            line: verdict.line(&call.tool),
        });
        let mut shown = Vec::new();
        let output = self.carry_out(&call, verdict, &mut shown, cancel).await;
        let told = self.told_of_batch(&call, &output);
        self.emit(AgentEvent::ToolFinished {
            id: call.id.clone(),
            tool: call.tool,
            ok: !output.is_error,
            line: output.one_line,
            detail: output.detail,
        });
        if !output.is_error {
            for line in shown {
                self.emit(AgentEvent::Notice { line });
            }
        }
        let content = self.parts.limits.cut(output.content);
        let result = result_block(call.id, content, output.is_error, &output.attachments);
        Answered { result, told }
    }

    /// Hooks, permission, the tool, and hooks again.
    async fn carry_out(
        &self,
        call: &Call,
        mut verdict: Verdict,
        shown: &mut Vec<String>,
        cancel: &CancellationToken,
    ) -> ToolOutput {
        let tool = self.tool_name(call);
        let hooked = |event| self.parts.hooks.any(event, Some(tool));
        let mut context = Vec::new();
        if hooked(HookEvent::PreToolUse)
            && let Ok(ready) = self.prepare(call)
        {
            (verdict, context) = self.judged_by_hooks(&call.id, ready, cancel).await;
        }
        let ready = match self.settle(&call.id, verdict, cancel).await {
            Ok(ready) => ready,
            Err(refusal) => return self.refused(call, refusal, cancel).await,
        };
        let looked_at = hooked(HookEvent::PostToolUse) || hooked(HookEvent::PostToolUseFailure);
        let input = looked_at.then(|| ready.input.clone());
        *shown = ready.tool.shown(&ready.input);
        let mut call_context = self.call_context();
        call_context.cancel = cancel.child_token();
        call_context.tool_use_id.clone_from(&call.id);
        call_context.host = Some(self.call_host(&call.id));
        let paths = self
            .has_instructions()
            .then(|| ready.tool.touches(&ready.input, &call_context.cwd));
        let begun = Instant::now();
        let mut output = call::run(ready, call_context, self.parts.limits.cancel_grace).await;
        let duration = begun.elapsed();
        if let Some(paths) = paths.filter(|_| !output.is_error) {
            let mut touched = self.touched.lock();
            touched.extend(paths);
        }
        add_context(&mut output, &context);
        let Some(input) = input else { return output };
        let ran = Ran {
            id: &call.id,
            tool,
            input,
            duration,
        };
        self.looked_at_by_hooks(ran, output, cancel).await
    }

    /// Finds the tool, checks the input's form, and decides.
    fn judge(&self, call: &Call) -> Verdict {
        match self.prepare(call) {
            Ok(ready) => self.decide(ready),
            Err(why) => Verdict::Refuse(Refusal::Other(why)),
        }
    }

    /// The tool that a call means, under whichever of its names.
    fn tool_of(&self, call: &Call) -> Option<&Arc<dyn Tool>> {
        let name = call.tool.as_str();
        let mut tools = self.parts.tools.iter();
        tools.find(|tool| tool.name() == name || tool.aliases().contains(&name))
    }

    /// The name of the tool that a call means: hooks and rules know it by that, whatever the model wrote.
    pub(super) fn tool_name<'a>(&'a self, call: &'a Call) -> &'a str {
        self.tool_of(call).map_or(&call.tool, |tool| tool.name())
    }

    /// Finds the tool and checks the input's form.
    fn prepare(&self, call: &Call) -> Result<Ready, String> {
        let Some(tool) = self.tool_of(call) else {
            return Err(self.no_such_tool(&call.tool));
        };
        match &call.input {
            CallInput::Object(input) => match tool.check(input, &self.context()) {
                Ok(()) => Ok(Ready {
                    tool: Arc::clone(tool),
                    input: input.clone(),
                }),
                Err(why) => Err(why),
            },
            CallInput::Unreadable(raw) => Err(format!(
                "The call was not run: its input is not a JSON object. It was: {raw}"
            )),
            CallInput::CutOff => Err(format!(
                "The call was not run: the answer was cut off in it, at the limit of {} output tokens. Do it in smaller steps.",
                self.asked_output
            )),
        }
    }

    /// The directory to which a tool has moved this agent.
    fn moved(&self) -> Option<Workplace> {
        let origin = &self.parts.tool_context.cwd;
        let mut tools = self.parts.tools.iter();
        tools.find_map(|tool| tool.workplace(origin))
    }

    /// What a call may use of the world.
    pub(super) fn context(&self) -> ToolContext {
        ToolContext {
            modes: Some(Arc::clone(&self.parts.rights) as Arc<dyn ModeSwitch>),
            documents: self.parts.model.takes_documents(),
            ..self.parts.tool_context.clone()
        }
    }

    /// The same where the agent works now.
    pub(crate) fn call_context(&self) -> ToolContext {
        let mut context = self.context();
        if let Some(moved) = self.moved() {
            let rights = &self.parts.rights;
            let anchors = rights.anchors(&context.cwd, Some(&moved.cwd));
            let (protected, home) = (&context.protected, self.parts.home.as_deref());
            context.protected = rights.hiding(protected, &moved.cwd, anchors, home);
            context.confine = Some(moved.confine);
            context.cwd = moved.cwd;
        }
        context
    }

    /// Whether a call runs that the model has not made: nobody is asked about it, neither a person nor a hook.
    pub(crate) fn may_run(&self, tool: &Arc<dyn Tool>, input: &Value) -> bool {
        let ready = Ready {
            tool: Arc::clone(tool),
            input: input.clone(),
        };
        let hooked = HookEvent::PreToolUse;
        !self.parts.hooks.any(hooked, Some(tool.name()))
            && matches!(self.decide(ready), Verdict::Run(_))
    }

    /// Decides by rules and mode.
    pub(super) fn decide(&self, ready: Ready) -> Verdict {
        match self.asked_of_rights(&ready, |question| self.parts.rights.decide(question)) {
            Decision::Allow { .. } => Verdict::Run(ready),
            Decision::Deny { why } => Verdict::Refuse(Refusal::Denied(why)),
            Decision::Ask { why, suggestions } => Verdict::Ask {
                ready,
                why,
                suggestions,
            },
        }
    }

    /// Whether no rule speaks against a call, so that only the mode asks about it.
    pub(super) fn is_left_to_mode(&self, ready: &Ready) -> bool {
        self.asked_of_rights(ready, |question| {
            self.parts.rights.is_left_to_mode(question)
        })
    }

    /// The directory in which the next command starts.
    pub(super) fn starts_in(&self) -> PathBuf {
        let moved = self.moved();
        let origin = &self.parts.tool_context.cwd;
        let cwd = moved.as_ref().map_or(origin, |moved| &moved.cwd);
        let allowed = self.parts.rights.rules().directories;
        self.parts.tool_context.shell.directory(cwd, &allowed)
    }

    fn asked_of_rights<T>(&self, ready: &Ready, ask: impl FnOnce(&Question<'_>) -> T) -> T {
        let moved = self.moved();
        let origin = &self.parts.tool_context.cwd;
        let moved = moved.as_ref().map(|moved| moved.cwd.as_path());
        let cwd = moved.unwrap_or(origin);
        let starts_in = self.starts_in();
        ask(&Question {
            tool: ready.tool.name(),
            input: &ready.input,
            cwd,
            starts_in: &starts_in,
            anchors: &self.parts.rights.anchors(origin, moved),
            home: self.parts.home.as_deref(),
            touches: &ready.tool.touches(&ready.input, cwd),
            files: &ContextFiles(&self.parts.tool_context),
            read_only: ready.tool.is_read_only(&ready.input),
            kind: ready.tool.kind(),
        })
    }

    fn no_such_tool(&self, name: &str) -> String {
        let mut withheld = self.parts.withheld.iter();
        if let Some(removed) = withheld.find(|removed| removed.tool == name) {
            return format!("You do not have the tool `{name}`: {}.", removed.why);
        }
        let names: Vec<_> = self.parts.tools.iter().map(|tool| tool.name()).collect();
        format!(
            "There is no tool `{name}`. The tools are: {}.",
            names.join(", ")
        )
    }
}

/// A result as a block, in the shape of the Messages API where something belongs to it that is no text.
fn result_block(
    id: String,
    text: String,
    is_error: bool,
    attachments: &[Attachment],
) -> ContentBlock {
    if attachments.is_empty() {
        return ContentBlock::ToolResult {
            tool_use_id: id,
            content: text,
            is_error,
        };
    }
    let mut content = Vec::with_capacity(attachments.len() + 1);
    if !text.is_empty() {
        content.push(json!({"type": "text", "text": text}));
    }
    content.extend(attachments.iter().map(|attachment| {
        let (kind, media_type, data) = match attachment {
            Attachment::ToolReference(name) => {
                return json!({"type": "tool_reference", "tool_name": name});
            }
            Attachment::Picture(picture) => ("image", &*picture.media_type, &picture.base64),
            Attachment::Pdf(data) => ("document", "application/pdf", data),
        };
        json!({"type": kind, "source": {"type": "base64", "media_type": media_type, "data": data}})
    }));
    let mut block = json!({"type": "tool_result", "tool_use_id": id, "content": content});
    if is_error {
        block["is_error"] = json!(true);
    }
    ContentBlock::Other(block)
}
