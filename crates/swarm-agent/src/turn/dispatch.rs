//! Runs the calls of one response in order.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use futures::{StreamExt, stream};
use serde_json::{Value, json};
use swarm_model::ContentBlock;
use swarm_permissions::{Decision, HookEvent, Question};
use swarm_protocol::{AgentEvent, ToolKind};
use swarm_tools::{Attachment, ModeSwitch, Tool, ToolContext, ToolOutput, Workplace};
use tokio_util::sync::CancellationToken;

use super::call;
use super::hooks::add_context;
use super::outcome::TurnSignals;
use super::repetition::REPORTED;
use super::step::{Call, CallInput};
use super::tool_hooks::FinishedCall;
use super::types::{PreparedCall, Refusal, TurnStop, Verdict};
use crate::context_files::ContextFiles;
use crate::fork::{ForkPointGuard, Origin, inherited};
use crate::media_block::{base64_block, image_block};
use crate::transcript::Entry;
use crate::{AgentTool, Session};

/// Most characters of the input of a repeated call that are reported.
const REPEATED_INPUT: usize = 300;

struct CallResult {
    result: ContentBlock,
    /// The call as input for hooks of the whole batch, if there are any.
    hook_input: Option<Value>,
}

impl Session {
    /// Runs calls: adjacent calls that only read or start agents run in parallel, others
    /// sequentially. Each result is on disk before the next call starts, so that a crash leaves as
    /// few calls as possible without a result.
    pub(super) async fn dispatch(
        &mut self,
        calls: Vec<Call>,
        signals: &TurnSignals,
    ) -> Result<(), TurnStop> {
        for call in &calls {
            self.note_repetition(call);
        }
        let _guard = self.set_fork_point(&calls);
        let mut waiting: VecDeque<Call> = calls.into();
        let mut batch = Vec::new();
        while let Some(next) = waiting.pop_front() {
            if signals.is_over() {
                self.leave_unrun(std::iter::once(next).chain(waiting))?;
                return Err(TurnStop::Interrupted);
            }
            let directory = self.watched_directory();
            let mut results = Vec::new();
            for finished in self.run_next(next, &mut waiting, &signals.cancel).await {
                results.push(finished.result);
                batch.extend(finished.hook_input);
            }
            results.extend(self.instructions_for_touched().map(ContentBlock::text));
            self.append(Entry::user(results))?;
            if let Some(before) = directory {
                self.note_directory(&before);
            }
            self.fire_noted(&signals.cancel).await;
            if let Err(halted) = self.heed_halt() {
                self.leave_unrun(waiting)?;
                return Err(halted);
            }
            if !waiting.is_empty() {
                self.interject(signals).await?;
            }
        }
        self.run_batch_hooks(batch, &signals.cancel).await
    }

    /// Counts a call, and reports it if it was made several times in a row.
    fn note_repetition(&mut self, call: &Call) {
        let input = match &call.input {
            CallInput::Object(input) => input.to_string(),
            CallInput::Unreadable(raw) => raw.clone(),
            CallInput::CutOff => return,
        };
        let tool = self.tool_name(call).to_owned();
        if self.repetition.count(format!("{tool} {input}")) {
            self.emit(AgentEvent::CallRepeated {
                tool,
                input: input.chars().take(REPEATED_INPUT).collect(),
                times: REPORTED,
            });
        }
    }

    /// Enables forks of this conversation while these calls run.
    fn set_fork_point(&self, calls: &[Call]) -> Option<ForkPointGuard> {
        if !calls.iter().any(|call| AgentTool::is_called(&call.tool)) {
            return None;
        }
        Some(self.parts.forks.set(Origin {
            head: self.head.clone(),
            tools: self.parts.tools.clone(),
            messages: inherited(&self.history.for_model()),
        }))
    }

    /// Runs the next call together with following ones that may run in parallel.
    async fn run_next(
        &self,
        next: Call,
        waiting: &mut VecDeque<Call>,
        cancel: &CancellationToken,
    ) -> Vec<CallResult> {
        let verdict = self.check_call(&next);
        let mut parallel_so_far = self.may_run_in_parallel(&next, &verdict);
        let mut batch = vec![(next, verdict)];
        while parallel_so_far && let Some(call) = waiting.pop_front() {
            let verdict = self.check_call(&call);
            parallel_so_far = self.may_run_in_parallel(&call, &verdict);
            if parallel_so_far {
                batch.push((call, verdict));
            } else {
                // Decided again later, because the calls before it may change the decision.
                waiting.push_front(call);
            }
        }
        let runs: Vec<_> = batch
            .into_iter()
            .map(|(call, verdict)| self.run(call, verdict, cancel))
            .collect();
        let parallel = self.parts.limits.parallel_calls.max(1);
        stream::iter(runs).buffered(parallel).collect().await
    }

    /// Returns whether a call may run in parallel. A call whose input a hook may change runs alone,
    /// because it could become a mutating one.
    fn may_run_in_parallel(&self, call: &Call, verdict: &Verdict) -> bool {
        let tool = self.tool_name(call);
        let hooked = self.parts.hooks.any(HookEvent::PreToolUse, Some(tool));
        verdict.runs_in_parallel() && !hooked
    }

    /// Runs one call and emits its start and end.
    async fn run(&self, call: Call, verdict: Verdict, cancel: &CancellationToken) -> CallResult {
        self.emit(AgentEvent::ToolStarted {
            id: call.id.clone(),
            tool: call.tool.clone(),
            line: verdict.line(&call.tool),
        });
        let mut shown = Vec::new();
        let output = self.execute(&call, verdict, &mut shown, cancel).await;
        let hook_input = self.batch_hook_input(&call, &output);
        self.emit(AgentEvent::ToolFinished {
            id: call.id.clone(),
            tool: call.tool,
            ok: !output.is_error,
            line: output.one_line,
            detail: output.detail,
        });
        if !output.is_error {
            for line in shown {
                self.notice(line);
            }
        }
        let content = self.parts.limits.cut(output.content);
        let result = result_block(call.id, content, output.is_error, &output.attachments);
        CallResult { result, hook_input }
    }

    /// Runs the hooks before the call, the permission check, the tool, and the hooks after it.
    async fn execute(
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
            (verdict, context) = self.check_by_hooks(&call.id, ready, cancel).await;
        }
        let verdict = self.refuse_impossible(verdict);
        let ready = match self.resolve(&call.id, verdict, cancel).await {
            Ok(ready) => ready,
            Err(refusal) => return self.refused(call, refusal, cancel).await,
        };
        let has_result_hooks =
            hooked(HookEvent::PostToolUse) || hooked(HookEvent::PostToolUseFailure);
        let input = has_result_hooks.then(|| ready.input.clone());
        *shown = ready.tool.shown(&ready.input);
        let note = ready.change_note();
        let mut call_context = self.call_context();
        call_context.cancel = cancel.child_token();
        call_context.tool_use_id.clone_from(&call.id);
        call_context.host = Some(self.call_host(&call.id));
        let instructed = self.instructions.as_ref();
        let paths = instructed.map(|_| ready.tool.touches(&ready.input, &call_context.cwd));
        let begun = Instant::now();
        let mut output = call::run(ready, call_context, self.parts.limits.cancel_grace).await;
        let duration = begun.elapsed();
        if let Some(paths) = paths.filter(|_| !output.is_error) {
            let mut touched = self.touched.lock();
            touched.extend(paths);
        }
        add_context(&mut output, &context);
        if let Some(input) = input {
            let finished_call = FinishedCall {
                id: &call.id,
                tool,
                input,
                duration,
            };
            output = self.run_result_hooks(finished_call, output, cancel).await;
        }
        output.content.insert_str(0, &note.unwrap_or_default());
        output
    }

    /// Finds the tool, validates the input, and decides about the call.
    fn check_call(&self, call: &Call) -> Verdict {
        match self.prepare(call) {
            Ok(ready) => self.decide(ready),
            Err(why) => Verdict::Refuse(Refusal::Other(why)),
        }
    }

    /// Returns the tool of a call, which may use an alias.
    fn tool_of(&self, call: &Call) -> Option<&Arc<dyn Tool>> {
        let name = call.tool.as_str();
        let mut tools = self.parts.tools.iter();
        tools.find(|tool| tool.name() == name || tool.aliases().contains(&name))
    }

    /// Returns the name of a call's tool, by which hooks and rules know it even if the model used
    /// an alias.
    pub(super) fn tool_name<'a>(&'a self, call: &'a Call) -> &'a str {
        self.tool_of(call).map_or(&call.tool, |tool| tool.name())
    }

    /// Finds the tool and validates the input.
    fn prepare(&self, call: &Call) -> Result<PreparedCall, String> {
        let Some(tool) = self.tool_of(call) else {
            return Err(self.unknown_tool(&call.tool));
        };
        match &call.input {
            CallInput::Object(input) => match tool.check(input, &self.context()) {
                Ok(()) => Ok(PreparedCall::new(tool, input.clone())),
                Err(why) => Err(why),
            },
            CallInput::Unreadable(raw) => Err(format!(
                "The call was not run: its input is not a JSON object. It was: {raw}"
            )),
            CallInput::CutOff => Err(format!(
                "The call was not run: the response was cut off in it, at the limit of {} output tokens. Use smaller steps.",
                self.asked_output
            )),
        }
    }

    /// Returns the directory to which a tool has moved this agent.
    fn moved(&self) -> Option<Workplace> {
        let origin = &self.parts.tool_context.cwd;
        let mut tools = self.parts.tools.iter();
        tools.find_map(|tool| tool.workplace(origin))
    }

    /// Returns the context of tool calls in the agent's original directory.
    pub(super) fn context(&self) -> ToolContext {
        ToolContext {
            modes: Some(Arc::clone(&self.parts.rights) as Arc<dyn ModeSwitch>),
            documents: self.parts.model.takes_documents(),
            ..self.parts.tool_context.clone()
        }
    }

    /// Returns the context of tool calls in the agent's current directory.
    pub(crate) fn call_context(&self) -> ToolContext {
        let mut context = self.context();
        if let Some(moved) = self.moved() {
            let rights = &self.parts.rights;
            let anchors = rights.anchors(&context.cwd, Some(&moved.cwd));
            let (protected, home) = (&context.protected, self.parts.home.as_deref());
            context.protected = rights.with_hidden(protected, &moved.cwd, anchors, home);
            context.confine = Some(moved.confine);
            context.cwd = moved.cwd;
        }
        context
    }

    /// Returns whether a call that the model did not make may run without asking a person or a
    /// hook.
    pub(crate) fn may_run(&self, tool: &Arc<dyn Tool>, input: &Value) -> bool {
        let ready = PreparedCall::new(tool, input.clone());
        let hooked = HookEvent::PreToolUse;
        !self.parts.hooks.any(hooked, Some(tool.name()))
            && matches!(self.decide(ready), Verdict::Run(_))
    }

    /// Decides about a call by rules and mode.
    pub(super) fn decide(&self, ready: PreparedCall) -> Verdict {
        let mut decision =
            self.with_question(&ready, |question| self.parts.rights.decide(question));
        for command in ready.tool.commands(&ready.input) {
            if matches!(decision, Decision::Allow { .. }) {
                decision = self.decide_command(&command);
            }
        }
        match decision {
            Decision::Allow { .. } => Verdict::Run(ready),
            Decision::Deny { why } => Verdict::Refuse(Refusal::Denied(why)),
            Decision::Ask { why, suggestions } => Verdict::Ask {
                ready,
                why,
                suggestions,
                by_hook: false,
            },
        }
    }

    /// Decides about a command that a call will have run, as about a call of Bash.
    fn decide_command(&self, command: &str) -> Decision {
        let Some(bash) = self.parts.tool("Bash") else {
            return Decision::Deny {
                why: format!("it would run `{command}`, and you do not have the tool `Bash`"),
            };
        };
        let ready = PreparedCall::new(bash, json!({"command": command}));
        let decision = self.with_question(&ready, |question| self.parts.rights.decide(question));
        match decision {
            Decision::Ask { why, suggestions } => Decision::Ask {
                why: format!("it would run `{command}`: {why}"),
                suggestions,
            },
            Decision::Deny { why } => Decision::Deny {
                why: format!("it would run `{command}`: {why}"),
            },
            allowed @ Decision::Allow { .. } => allowed,
        }
    }

    /// Returns whether no rule applies to a call, so that the mode alone decides.
    pub(super) fn is_left_to_mode(&self, ready: &PreparedCall) -> bool {
        self.with_question(ready, |question| {
            self.parts.rights.is_left_to_mode(question)
        })
    }

    /// Returns the directory in which the next command starts.
    pub(super) fn starts_in(&self) -> PathBuf {
        let moved = self.moved();
        let origin = &self.parts.tool_context.cwd;
        let cwd = moved.as_ref().map_or(origin, |moved| &moved.cwd);
        let allowed = self.parts.rights.rules().directories;
        self.parts.tool_context.shell.directory(cwd, &allowed)
    }

    fn with_question<T>(&self, ready: &PreparedCall, ask: impl FnOnce(&Question<'_>) -> T) -> T {
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
            kind: kind_of(&*ready.tool, &ready.input),
            ceiling: self.parts.rights.highest_mode(),
        })
    }

    fn unknown_tool(&self, name: &str) -> String {
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

/// Returns the kind of a call by which rules and mode decide.
pub(super) fn kind_of(tool: &dyn Tool, input: &Value) -> ToolKind {
    if tool.asks_person(input) {
        ToolKind::Person
    } else {
        tool.kind()
    }
}

/// Returns a result as a block; with attachments in the form of the Messages API.
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
    content.extend(attachments.iter().map(|attachment| match attachment {
        Attachment::ToolReference(name) => {
            json!({"type": "tool_reference", "tool_name": name})
        }
        Attachment::Picture(picture) => image_block(picture),
        Attachment::Pdf(data) => base64_block("document", "application/pdf", data),
    }));
    let mut block = json!({"type": "tool_result", "tool_use_id": id, "content": content});
    if is_error {
        block["is_error"] = json!(true);
    }
    ContentBlock::Other(block)
}
