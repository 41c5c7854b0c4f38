//! What the answers of all hooks of an event mean together.

use serde_json::Value;
use swarm_permissions::HookCommand;

use crate::answer::Answer;
use crate::control::{Control, Permission};

/// What the hooks of one event came to. The default is what an event without hooks comes to.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct HookOutcome {
    /// Why it is not to happen, in the words of those that blocked it.
    pub block: Option<String>,
    /// The strictest word about a call, with its reason.
    pub permission: Option<(Permission, Option<String>)>,
    /// The input with which a call is to be made instead; of several the last hook's.
    pub updated_input: Option<Value>,
    /// What the model is to be told.
    pub context: Vec<String>,
    /// Why the agent is to do nothing more, where a hook wants that.
    pub stop: Option<String>,
    /// What the person is to be told.
    pub messages: Vec<String>,
    /// The directory that a hook of `WorktreeCreate` has made and names in JSON; of several the last hook's.
    pub worktree_path: Option<String>,
    /// What hooks printed that gave no orders, in order; empty texts left out.
    pub printed: Vec<String>,
    /// Hooks that did not do what they are for, each with its command.
    pub failures: Vec<String>,
    /// How many hooks there were.
    pub ran: usize,
    /// Whether the model may be told to repeat a call that was denied.
    pub retry: bool,
    /// Whether whoever waited called it off.
    pub interrupted: bool,
}

impl HookOutcome {
    /// Takes the answer of one more hook. Called in the order of the settings, whichever hook ended first.
    pub(crate) fn take(&mut self, hook: &HookCommand, answer: Answer) {
        self.ran += 1;
        match answer {
            Answer::Text(text) if text.is_empty() => {}
            Answer::Text(text) => self.printed.push(text),
            Answer::Control(control) => self.obey(hook, *control),
            Answer::Block(text) => self.add_block(hook, Some(text)),
            Answer::Failed(why) => {
                let failure = format!("`{}` {why}", short(hook));
                if hook.failure_blocks {
                    let why = format!("the hook that has to agree failed: {failure}");
                    self.add_block(hook, Some(why));
                }
                self.failures.push(failure);
            }
            Answer::Interrupted => self.interrupted = true,
        }
    }

    fn obey(&mut self, hook: &HookCommand, control: Control) {
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
        if control.goes_on == Some(false) && self.stop.is_none() {
            let reason = control.stop_reason.filter(|text| !text.trim().is_empty());
            self.stop = Some(reason.unwrap_or_else(|| format!("hook `{}` says so", short(hook))));
        }
        if !control.suppress_output {
            self.messages.extend(control.system_message);
        }
    }

    fn add_block(&mut self, hook: &HookCommand, why: Option<String>) {
        let why = why.filter(|text| !text.trim().is_empty());
        let why = why.unwrap_or_else(|| format!("hook `{}` blocks it", short(hook)));
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

    /// Why the call or the step is refused: by a block, or by a denial.
    pub fn refusal(&self) -> Option<String> {
        if let Some(why) = &self.block {
            return Some(why.clone());
        }
        match &self.permission {
            Some((Permission::Deny, why)) => {
                Some(why.clone().unwrap_or_else(|| "a hook denies it".to_owned()))
            }
            _ => None,
        }
    }

    /// What goes into the context of a model whose hooks may add to it: what they name so, and what they just print.
    pub fn told(&self) -> Vec<String> {
        self.printed.iter().chain(&self.context).cloned().collect()
    }
}

/// A command line that fits into a sentence.
pub(crate) fn short(hook: &HookCommand) -> String {
    const LONGEST: usize = 60;
    let flat: String = hook
        .action
        .text()
        .chars()
        .take(LONGEST)
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    if hook.action.text().chars().count() > LONGEST {
        format!("{flat}…")
    } else {
        flat
    }
}
