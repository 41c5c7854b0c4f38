//! The user's hooks of a session.

use serde_json::{Value, json};
use swarm_hooks::{HookInput, HookOutcome, Permission};
use swarm_model::ContentBlock;
use swarm_permissions::{HookEvent, PermissionOutcome, PermissionRequest};
use swarm_protocol::{Envelope, MessageId};
use swarm_tools::ToolOutput;
use tokio_util::sync::CancellationToken;

use super::types::{NOT_RUN, PreparedCall, Refusal, TurnStop, Verdict};
use crate::transcript::Entry;
use crate::{Delivery, Injected, Result, Session};

/// Most consecutive times that hooks may keep a turn from ending, as in Claude Code.
const MAX_CONTINUATIONS: u32 = 8;

/// The reason for withholding a prompt whose hooks were interrupted.
const INTERRUPTED_HOOK: &str = "it was interrupted";

impl Session {
    /// Runs the hooks of an event of this session's agent. `matched` is compared with their
    /// matchers.
    pub async fn fire(
        &self,
        event: HookEvent,
        matched: Option<&str>,
        fields: Value,
        cancel: &CancellationToken,
    ) -> HookOutcome {
        let refine = |subject: &mut HookInput| {
            let author = self.transcript().author();
            subject.session_id = Some(author.session.to_string());
            subject.transcript_path = Some(self.transcript().path().to_owned());
            subject.permission_mode = Some(self.parts.rights.mode());
            subject.cwd.clone_from(&self.parts.tool_context.cwd);
        };
        let hooks = &self.parts.hooks;
        hooks.fire_as(event, matched, refine, fields, cancel).await
    }

    /// Runs the `SessionStart` hooks; `source` says what starts the session. Returns what they add
    /// to the conversation. A hook that stops the agent ends the next turn before its request.
    pub async fn fire_start(&self, source: &str, cancel: &CancellationToken) -> Option<Injected> {
        let fields = json!({"source": source});
        let event = HookEvent::SessionStart;
        let outcome = self.fire(event, Some(source), fields, cancel).await;
        if let Some(why) = &outcome.stop {
            self.halt(why);
        }
        hook_context(&outcome)
    }

    /// Adds prompts to the conversation as [`Session::deliver`] does, after hooks have checked each
    /// of them; `context` precedes them and is not checked. The model does not see a blocked
    /// prompt, but the others are delivered; the transcript records the block, and the prompt's
    /// messages count as delivered. A message whose hooks were interrupted stays undelivered; a
    /// prompt without a message is withheld. A hook that stops the agent also ends the next turn
    /// before its request.
    ///
    /// Messages may not be on disk yet on return, so that a model request can start immediately:
    /// acknowledge them after [`Session::sync_handle`]. The next transcript line waits for them, so
    /// no call runs before they are on disk.
    ///
    /// # Errors
    /// [`crate::AgentError::Transcript`]; nothing was delivered then.
    pub async fn submit(
        &mut self,
        context: Vec<Injected>,
        prompts: Vec<Injected>,
        cancel: &CancellationToken,
    ) -> Result<Submitted> {
        let (mut input, mut withheld) = (context, Vec::new());
        for mut prompt in prompts {
            // Sequentially, because a user's program may not support concurrent runs.
            match self.check_prompt(&mut prompt, cancel).await {
                PromptCheck::Delivered(context) => {
                    input.push(prompt);
                    input.extend(context);
                }
                PromptCheck::Deferred => {}
                PromptCheck::Withheld(why) => {
                    let note =
                        format!("A prompt was withheld from you by a hook of the user: {why}");
                    withheld.push(Withheld {
                        message_ids: prompt.message_ids.clone(),
                        why,
                    });
                    input.push(Injected {
                        text: Envelope::system(&note).render(),
                        images: Vec::new(),
                        ..prompt
                    });
                }
            }
        }
        let delivery = self.begin_delivery(input)?;
        Ok(Submitted { delivery, withheld })
    }

    /// Runs the hooks on a prompt. A prompt that starts with the name of a skill is replaced with
    /// its text.
    async fn check_prompt(&self, prompt: &mut Injected, cancel: &CancellationToken) -> PromptCheck {
        let mut context = Vec::new();
        let typed = prompt.text.clone();
        let expansion = self.expansion(&typed);
        if let Some(expansion) = &expansion {
            let (event, name) = (HookEvent::UserPromptExpansion, &expansion.skill.name);
            let fields = expansion.fields(&typed);
            let outcome = self.fire(event, Some(name), fields, cancel).await;
            if let Some(judged) = self.blocked(&outcome, prompt) {
                return judged;
            }
            context.extend(hook_context(&outcome));
        }
        let (event, fields) = (HookEvent::UserPromptSubmit, json!({"prompt": typed}));
        let outcome = self.fire(event, None, fields, cancel).await;
        if let Some(judged) = self.blocked(&outcome, prompt) {
            return judged;
        }
        context.extend(hook_context(&outcome));
        // Last, so that a blocked prompt grants no rules.
        if let Some(expansion) = &expansion {
            self.expand(expansion, prompt);
        }
        PromptCheck::Delivered(context)
    }

    /// Returns why a prompt is not delivered now.
    fn blocked(&self, outcome: &HookOutcome, prompt: &Injected) -> Option<PromptCheck> {
        if outcome.interrupted && !prompt.message_ids.is_empty() {
            return Some(PromptCheck::Deferred);
        }
        if let Some(why) = &outcome.stop {
            self.halt(why);
        }
        let cut_off = || outcome.interrupted.then(|| INTERRUPTED_HOOK.to_owned());
        let refused = outcome.refusal().or_else(|| outcome.stop.clone());
        refused.or_else(cut_off).map(PromptCheck::Withheld)
    }

    /// Runs the hooks on a call, then rules and mode. A hook may block a call, require approval,
    /// change its input, and skip an approval that only the mode requires. It cannot override a
    /// deny or ask rule, or a refusal by the mode.
    pub(super) async fn check_by_hooks(
        &self,
        id: &str,
        mut ready: PreparedCall,
        cancel: &CancellationToken,
    ) -> (Verdict, Vec<String>) {
        let tool = ready.tool.name().to_owned();
        let fields = json!({"tool_name": tool, "tool_input": ready.input, "tool_use_id": id});
        let outcome = self
            .fire(HookEvent::PreToolUse, Some(&tool), fields, cancel)
            .await;
        let refuse = |why: String| (Verdict::Refuse(Refusal::Other(why)), Vec::new());
        if outcome.interrupted {
            return refuse(NOT_RUN.to_owned());
        }
        if let Some(why) = &outcome.stop {
            self.halt(why);
            return refuse(format!(
                "The call was not run: a hook stopped the turn. {why}"
            ));
        }
        if let Some(why) = outcome.refusal() {
            return refuse(format!("The call was not run: a hook refuses it. {why}"));
        }
        if let Some(input) = outcome.updated_input {
            if !input.is_object() {
                let why = "a hook changed its input to something that is not a JSON object";
                return refuse(format!("The call was not run: {why}."));
            }
            ready.input = input;
            if let Err(why) = ready.tool.check(&ready.input, &self.context()) {
                return refuse(why);
            }
        }
        let verdict = match (outcome.permission, self.decide(ready)) {
            (Some((Permission::Allow, _)), Verdict::Ask { ready, .. })
                if self.is_left_to_mode(&ready) =>
            {
                Verdict::Run(ready)
            }
            (Some((Permission::Ask, why)), Verdict::Run(ready)) => Verdict::Ask {
                ready,
                why: why.unwrap_or_else(|| "a hook requires approval".to_owned()),
                suggestions: Vec::new(),
                by_hook: true,
            },
            (
                Some((Permission::Ask, _)),
                Verdict::Ask {
                    ready,
                    why,
                    suggestions,
                    ..
                },
            ) => Verdict::Ask {
                ready,
                why,
                suggestions,
                by_hook: true,
            },
            (_, verdict) => verdict,
        };
        (verdict, outcome.context)
    }

    /// Runs the hooks that may decide a permission request instead of a person.
    pub(super) async fn answered_by_hooks(
        &self,
        request: &PermissionRequest,
        cancel: &CancellationToken,
    ) -> Option<PermissionOutcome> {
        let fields = json!({
            "tool_name": request.tool,
            "tool_input": request.input,
            "tool_use_id": request.tool_use_id,
            "permission_suggestions": request.suggestions,
        });
        let outcome = self
            .fire(
                HookEvent::PermissionRequest,
                Some(&request.tool),
                fields,
                cancel,
            )
            .await;
        if let Some(why) = &outcome.stop {
            self.halt(why);
        }
        if let Some(why) = outcome.refusal().or(outcome.stop) {
            let why = format!("A hook refuses it. {why}");
            return Some(PermissionOutcome::deny(why));
        }
        match outcome.permission {
            Some((Permission::Allow, _)) => Some(PermissionOutcome::allow(outcome.updated_input)),
            _ => None,
        }
    }

    /// Returns whether the turn may end. Otherwise the model gets the reason and continues.
    pub(super) async fn may_end(
        &mut self,
        last_words: &str,
        held: &mut u32,
        cancel: &CancellationToken,
    ) -> Result<bool> {
        let event = self.parts.hooks.end_event();
        let mut fields =
            json!({"stop_hook_active": *held > 0, "last_assistant_message": last_words});
        let mut matched = None;
        if event == HookEvent::SubagentStop {
            fields["agent_transcript_path"] = json!(self.transcript().path());
            matched = self.parts.hooks.input().agent_type;
        }
        let outcome = self.fire(event, matched.as_deref(), fields, cancel).await;
        if outcome.stop.is_some() {
            self.stop_reason = outcome.stop;
            return Ok(true);
        }
        let Some(why) = outcome.block else {
            return Ok(true);
        };
        if *held >= MAX_CONTINUATIONS {
            let name = event.name();
            self.notice(format!(
                "hook {name}: kept the turn from ending {MAX_CONTINUATIONS} times; ending it now"
            ));
            return Ok(true);
        }
        *held += 1;
        let note = format!("Your turn does not end yet, a user hook says: {why}");
        let note = Envelope::system(&note).render();
        self.append(Entry::user(vec![ContentBlock::text(note)]))?;
        Ok(false)
    }

    /// Stops the turn after the running calls, or the next turn before its request.
    pub(super) fn halt(&self, why: &str) {
        let mut halted = self.halted.lock();
        halted.get_or_insert_with(|| why.to_owned());
    }

    /// Ends the turn if a hook stopped it, with its reason.
    pub(super) fn heed_halt(&self) -> Result<(), TurnStop> {
        let mut halted = self.halted.lock();
        halted
            .take()
            .map_or(Ok(()), |why| Err(TurnStop::Halted(why)))
    }
}

/// The outcome of submitted prompts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Submitted {
    /// Delivery as from [`Session::deliver`], on disk after [`Session::sync_handle`].
    pub delivery: Delivery,
    /// Prompts that hooks blocked.
    pub withheld: Vec<Withheld>,
}

/// A prompt that a hook blocked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Withheld {
    /// Messages in the prompt; empty for other prompts.
    pub message_ids: Vec<MessageId>,
    /// Reason given by the hook.
    pub why: String,
}

/// The result of the hooks for a prompt.
enum PromptCheck {
    /// The prompt is delivered, followed by this context.
    Delivered(Vec<Injected>),
    /// The prompt is checked again later.
    Deferred,
    /// The prompt is blocked, for this reason.
    Withheld(String),
}

/// Returns the context that hooks add, as a separate piece of input.
pub(crate) fn hook_context(outcome: &HookOutcome) -> Option<Injected> {
    let told = outcome.model_context();
    if told.is_empty() {
        return None;
    }
    let text = format!("A user hook says:\n{}", told.join("\n"));
    Some(Injected::system(&text))
}

/// Appends the context of hooks to a result.
pub(super) fn add_context<'a>(
    output: &mut ToolOutput,
    context: impl IntoIterator<Item = &'a String>,
) {
    for text in context {
        output.content.push_str("\n\n[A user hook says: ");
        output.content.push_str(text.trim());
        output.content.push(']');
    }
}
