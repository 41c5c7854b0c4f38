//! The user's hooks in the life of a session.

use serde_json::{Value, json};
use swarm_hooks::{HookInput, HookOutcome, Permission};
use swarm_model::ContentBlock;
use swarm_permissions::HookEvent;
use swarm_protocol::{AgentEvent, Envelope, MessageId};
use swarm_tools::ToolOutput;
use tokio_util::sync::CancellationToken;

use super::types::{NOT_RUN, Ready, Refusal, Verdict};
use crate::transcript::Entry;
use swarm_permissions::{PermissionOutcome, PermissionRequest};

use crate::{AgentError, Delivery, Injected, Session};

/// How often in a row hooks may keep a turn from ending, as in Claude Code.
const HELD: u32 = 8;

/// Why a prompt that no hook has judged to the end is withheld.
const CUT_OFF: &str = "it was interrupted";

impl Session {
    /// Runs the hooks of an event of this session's agent. `matched` is what their matchers are held against.
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

    /// Makes prompts part of the conversation as [`Session::deliver`] does, each after hooks have read it; `context` stands
    /// before them and is not judged. What a hook refuses the model does not see, and its neighbours reach it all the
    /// same; that it was refused stands in the transcript, and the messages it was made of count as delivered. A message
    /// whose hooks were cut off is not delivered and waits where it is; a prompt that waits nowhere is withheld.
    ///
    /// Messages need not be on disk yet on return, so that the model can be asked at once: they may be acknowledged after
    /// [`Session::sync_handle`]. The next line of the transcript waits for them, and so no call runs before they are there.
    ///
    /// # Errors
    /// [`AgentError::Transcript`]; nothing was delivered then.
    pub async fn submit(
        &mut self,
        context: Vec<Injected>,
        prompts: Vec<Injected>,
        cancel: &CancellationToken,
    ) -> Result<Submitted, AgentError> {
        let (mut input, mut withheld) = (context, Vec::new());
        for mut prompt in prompts {
            // One after the other: a user's program need not bear that it runs twice at a time.
            match self.judged_prompt(&mut prompt, cancel).await {
                Judged::Heard(told) => {
                    input.push(prompt);
                    input.extend(told);
                }
                Judged::Waits => {}
                Judged::Withheld(why) => {
                    let note =
                        format!("A prompt was withheld from you by a hook of the user: {why}");
                    withheld.push(Withheld {
                        message_ids: prompt.message_ids.clone(),
                        why,
                    });
                    input.push(Injected {
                        text: Envelope::system(&note).render(),
                        ..prompt
                    });
                }
            }
        }
        let delivery = self.begin_delivery(input)?;
        Ok(Submitted { delivery, withheld })
    }

    /// Lets hooks judge a prompt. One that begins with the name of a skill becomes its text.
    async fn judged_prompt(&self, prompt: &mut Injected, cancel: &CancellationToken) -> Judged {
        let mut told = Vec::new();
        let typed = prompt.text.clone();
        let expansion = self.expansion(&typed);
        if let Some(expansion) = &expansion {
            let (event, name) = (HookEvent::UserPromptExpansion, &expansion.skill.name);
            let fields = expansion.fields(&typed);
            let outcome = self.fire(event, Some(name), fields, cancel).await;
            if let Some(judged) = held_back(&outcome, prompt) {
                return judged;
            }
            told.extend(told_by_hooks(&outcome));
        }
        let (event, fields) = (HookEvent::UserPromptSubmit, json!({"prompt": typed}));
        let outcome = self.fire(event, None, fields, cancel).await;
        if let Some(judged) = held_back(&outcome, prompt) {
            return judged;
        }
        told.extend(told_by_hooks(&outcome));
        // Last, so that a prompt that is held back lends no rules.
        if let Some(expansion) = &expansion {
            self.expand(expansion, prompt);
        }
        Judged::Heard(told)
    }

    /// Lets hooks judge a call, after which rules and mode do. A hook may refuse a call, have it asked about, change its
    /// input and spare the question that the mode alone would ask. It allows nothing that a rule denies or asks about,
    /// or that the mode refuses.
    pub(super) async fn judged_by_hooks(
        &self,
        id: &str,
        mut ready: Ready,
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
            return refuse(format!("The call was not run: a hook ends the turn. {why}"));
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
                why: why.unwrap_or_else(|| "a hook wants it to be asked about".to_owned()),
                suggestions: Vec::new(),
            },
            (_, verdict) => verdict,
        };
        (verdict, outcome.context)
    }

    /// Lets hooks answer a question in a person's place.
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
            Some((Permission::Allow, _)) => Some(PermissionOutcome::Allow {
                updated_input: outcome.updated_input,
                grants: Vec::new(),
            }),
            _ => None,
        }
    }

    /// Whether the turn may end here. Otherwise the model has been told why not, and goes on.
    pub(super) async fn may_end(
        &mut self,
        last_words: &str,
        held: &mut u32,
        cancel: &CancellationToken,
    ) -> Result<bool, AgentError> {
        let event = self.parts.hooks.end_event();
        let mut fields =
            json!({"stop_hook_active": *held > 0, "last_assistant_message": last_words});
        let mut matched = None;
        if event == HookEvent::SubagentStop {
            fields["agent_transcript_path"] = json!(self.transcript().path());
            matched = self.parts.hooks.input().agent_type;
        }
        let outcome = self.fire(event, matched.as_deref(), fields, cancel).await;
        let Some(why) = outcome.block.filter(|_| outcome.stop.is_none()) else {
            return Ok(true);
        };
        if *held >= HELD {
            self.emit(AgentEvent::Notice {
                line: format!(
                    "hook {}: held the turn {HELD} times, it ends now",
                    event.name()
                ),
            });
            return Ok(true);
        }
        *held += 1;
        let note = format!("Your turn does not end yet, a hook of the user says: {why}");
        let note = Envelope::system(&note).render();
        self.append(Entry::user(vec![ContentBlock::text(note)]))?;
        Ok(false)
    }

    /// Has the turn end as soon as the running calls have.
    pub(super) fn halt(&self, why: &str) {
        let mut halted = self.halted.lock();
        halted.get_or_insert_with(|| why.to_owned());
    }

    /// Why a hook ended the turn, once.
    pub(super) fn take_halt(&self) -> Option<String> {
        let mut halted = self.halted.lock();
        halted.take()
    }
}

/// What became of prompts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Submitted {
    /// As from [`Session::deliver`], on disk after [`Session::sync_handle`].
    pub delivery: Delivery,
    /// Those that hooks kept from the model.
    pub withheld: Vec<Withheld>,
}

/// A prompt that a hook kept from the model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Withheld {
    /// The messages that it was; none for a prompt that is no message.
    pub message_ids: Vec<MessageId>,
    /// Why, in the hook's words.
    pub why: String,
}

/// What hooks say of a prompt.
enum Judged {
    /// The model reads it, and this after it.
    Heard(Vec<Injected>),
    /// It is judged another time.
    Waits,
    /// The model does not read it, for this reason.
    Withheld(String),
}

/// Why a prompt does not go on to the model now.
fn held_back(outcome: &HookOutcome, prompt: &Injected) -> Option<Judged> {
    if outcome.interrupted && !prompt.message_ids.is_empty() {
        return Some(Judged::Waits);
    }
    let cut_off = || outcome.interrupted.then(|| CUT_OFF.to_owned());
    let refused = outcome.refusal().or_else(|| outcome.stop.clone());
    refused.or_else(cut_off).map(Judged::Withheld)
}

/// What hooks tell the model, as a piece of input of its own.
pub fn told_by_hooks(outcome: &HookOutcome) -> Option<Injected> {
    let told = outcome.model_context();
    if told.is_empty() {
        return None;
    }
    let text = format!("A hook of the user says:\n{}", told.join("\n"));
    Some(Injected::prompt(Envelope::system(&text).render()))
}

/// Puts what hooks say behind a result.
pub(super) fn add_context<'a>(
    output: &mut ToolOutput,
    context: impl IntoIterator<Item = &'a String>,
) {
    for text in context {
        output.content.push_str("\n\n[A hook of the user says: ");
        output.content.push_str(text.trim());
        output.content.push(']');
    }
}
