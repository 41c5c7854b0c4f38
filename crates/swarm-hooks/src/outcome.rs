//! The merged result of an event's hooks.

use serde_json::Value;
use swarm_permissions::HookCommand;
use swarm_protocol::shortened;

use crate::answer::{Answer, ControlOutput, Permission};

/// The merged result of the hooks of one event. The default is the result without hooks.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct HookOutcome {
    /// Why the event is blocked: the feedback of the blocking hooks.
    pub block: Option<String>,
    /// The strictest permission decision, with its reason.
    pub permission: Option<(Permission, Option<String>)>,
    /// The replacement for the call's input; the last hook wins.
    pub updated_input: Option<Value>,
    /// Additional context for the model.
    pub context: Vec<String>,
    /// Why the agent must stop, if a hook requests it.
    pub stop: Option<String>,
    /// Messages for the person.
    pub messages: Vec<String>,
    /// The directory that a `WorktreeCreate` hook created, if its JSON names it; the last hook
    /// wins.
    pub worktree_path: Option<String>,
    /// Plain text that hooks printed, in order, without empty texts.
    pub printed: Vec<String>,
    /// The failed hooks, each with its command.
    pub failures: Vec<String>,
    /// Number of hooks run.
    pub ran: usize,
    /// Whether the model may retry a denied call.
    pub retry: bool,
    /// Whether the event was cancelled.
    pub interrupted: bool,
}

impl HookOutcome {
    /// Adds the result of one hook. Called in the order of the settings, regardless of which hook
    /// finished first.
    pub(crate) fn take(&mut self, hook: &HookCommand, answer: Answer) {
        self.ran += 1;
        match answer {
            Answer::Text(text) if text.is_empty() => {}
            Answer::Text(text) => self.printed.push(text),
            Answer::Control(control) => self.apply_control(hook, *control),
            Answer::Block(text) => self.add_block(hook, Some(text)),
            Answer::Failed(why) => {
                let failure = format!("`{}` {why}", short(hook));
                if hook.failure_blocks {
                    let why = format!("a required hook failed: {failure}");
                    self.add_block(hook, Some(why));
                }
                self.failures.push(failure);
            }
            Answer::Interrupted => self.interrupted = true,
        }
    }

    fn apply_control(&mut self, hook: &HookCommand, control: ControlOutput) {
        let specific = control.hook_specific_output;
        match control.decision.as_deref() {
            Some("block" | "deny") => self.add_block(hook, control.reason.clone()),
            Some("approve" | "allow") => self.permit(Permission::Allow, control.reason.clone()),
            _ => {}
        }
        if let Some(permission) = specific.permission_decision {
            self.permit(permission, specific.permission_decision_reason);
        }
        if let Some(decision) = specific.decision {
            self.permit(decision.behavior, decision.message);
            self.updated_input = decision.updated_input.or(self.updated_input.take());
        }
        if specific.worktree_path.is_some() {
            self.worktree_path = specific.worktree_path;
        }
        if specific.updated_input.is_some() {
            self.updated_input = specific.updated_input;
        }
        self.retry |= specific.retry == Some(true);
        let context = specific.additional_context;
        self.context
            .extend(context.filter(|text| !text.trim().is_empty()));
        if control.should_continue == Some(false) && self.stop.is_none() {
            let reason = control.stop_reason.filter(|text| !text.trim().is_empty());
            self.stop = Some(reason.unwrap_or_else(|| format!("`{}` gave no reason", short(hook))));
        }
        if !control.suppress_output {
            self.messages.extend(control.system_message);
        }
    }

    fn add_block(&mut self, hook: &HookCommand, why: Option<String>) {
        let why = why.filter(|text| !text.trim().is_empty());
        let why = why.unwrap_or_else(|| format!("blocked by hook `{}`", short(hook)));
        match &mut self.block {
            Some(before) => {
                before.push('\n');
                before.push_str(&why);
            }
            None => self.block = Some(why),
        }
    }

    fn permit(&mut self, permission: Permission, why: Option<String>) {
        let is_stricter = |(before, _): &(Permission, _)| permission > *before;
        if self.permission.as_ref().is_none_or(is_stricter) {
            self.permission = Some((permission, why));
        }
    }

    /// Returns why the call or step is refused: a block or a denied permission.
    pub fn refusal(&self) -> Option<String> {
        if let Some(why) = &self.block {
            return Some(why.clone());
        }
        match &self.permission {
            Some((Permission::Deny, why)) => {
                Some(why.clone().unwrap_or_else(|| "denied by a hook".to_owned()))
            }
            _ => None,
        }
    }

    /// Returns the texts for the model's context: plain output first, then additional context.
    pub fn model_context(&self) -> Vec<String> {
        self.printed.iter().chain(&self.context).cloned().collect()
    }
}

/// Shortens a command line for use in a message.
pub(crate) fn short(hook: &HookCommand) -> String {
    const LONGEST: usize = 60;
    let text = hook.action.text().replace(char::is_control, " ");
    shortened(&text, LONGEST)
}
