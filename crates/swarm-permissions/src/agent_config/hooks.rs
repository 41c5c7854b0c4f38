//! Hooks as settings and definitions list them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::HookEvent;
use super::hook_matcher::matches;

/// Seconds that a question to a model may take where nothing says otherwise, as in Claude Code.
const PROMPT_LIMIT: u64 = 30;

/// Hooks by event.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct HookSettings {
    /// The groups of each event, in the order in which their results are merged.
    pub events: BTreeMap<HookEvent, Vec<HookGroup>>,
}

/// Hooks that share a matcher.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HookGroup {
    /// Which tools or agent types it speaks of; `None` is all.
    pub matcher: Option<String>,
    /// What runs.
    pub hooks: Vec<HookCommand>,
    /// The file or definition it stands in.
    pub origin: String,
}

/// What a hook does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    tag = "type",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
pub enum HookAction {
    /// Runs a command line in the shell.
    Command {
        /// The command line.
        command: String,
    },
    /// Posts the input to a server.
    Http {
        /// Its address, `http` or `https`.
        url: String,
        /// Further headers. `$NAME` and `${NAME}` in a value stand for a variable of `allowed_env_vars`.
        headers: BTreeMap<String, String>,
        /// The variables that headers may use.
        allowed_env_vars: Vec<String>,
    },
    /// Asks a model whether a condition holds.
    Prompt {
        /// The condition; `$ARGUMENTS` stands for the input.
        prompt: String,
        /// The model; `None` is a small one.
        model: Option<String>,
        /// Whether a no after a call is told to the model instead of ending the turn.
        continue_on_block: bool,
    },
}

impl HookAction {
    /// What tells it from others, for people: the command line, the address or the condition.
    pub fn text(&self) -> &str {
        match self {
            Self::Command { command } => command,
            Self::Http { url, .. } => url,
            Self::Prompt { prompt, .. } => prompt,
        }
    }
}

/// One hook: what it does, and how long and how strictly.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HookCommand {
    /// What it does.
    #[serde(flatten)]
    pub action: HookAction,
    /// Seconds that it may take; `None` is the default.
    pub timeout: Option<u64>,
    /// Whether a failure of the hook itself blocks as its refusal would. Otherwise it holds nothing up.
    #[serde(default)]
    pub failure_blocks: bool,
}

impl HookSettings {
    /// Whether nothing runs at any event.
    pub fn is_empty(&self) -> bool {
        self.events.values().all(Vec::is_empty)
    }

    /// Puts the hooks of another source behind these.
    pub fn extend(&mut self, other: Self) {
        for (event, groups) in other.events {
            self.events.entry(event).or_default().extend(groups);
        }
    }

    /// The same hooks for an agent that works for a caller: the end of its turn is the end of a sub-agent, so what a
    /// definition says of `Stop` is meant for `SubagentStop`. As Claude Code does with the hooks of definitions.
    #[must_use]
    pub fn for_subagent(mut self) -> Self {
        if let Some(groups) = self.events.remove(&HookEvent::Stop) {
            let end = self.events.entry(HookEvent::SubagentStop).or_default();
            end.splice(0..0, groups);
        }
        self
    }

    /// Gives every hook that names no time limit this one, in seconds. A question to a model gets no more than
    /// 30 seconds.
    #[must_use]
    pub fn with_time_limit(mut self, seconds: u64) -> Self {
        for group in self.events.values_mut().flatten() {
            for hook in &mut group.hooks {
                let limit = match hook.action {
                    HookAction::Prompt { .. } => seconds.min(PROMPT_LIMIT),
                    _ => seconds,
                };
                hook.timeout.get_or_insert(limit);
            }
        }
        self
    }

    /// What runs at an event, in order. `subject` is what matchers are held against: a tool or an agent type. The same
    /// hook runs once, with the longest time limit that any of its entries gives it.
    pub fn commands(&self, event: HookEvent, subject: Option<&str>) -> Vec<HookCommand> {
        let mut found: Vec<HookCommand> = Vec::new();
        for group in self.events.get(&event).into_iter().flatten() {
            let speaks = match (&group.matcher, subject) {
                (Some(matcher), Some(subject)) => matches(matcher, subject),
                _ => true,
            };
            if !speaks {
                continue;
            }
            for hook in &group.hooks {
                match found.iter_mut().find(|known| known.action == hook.action) {
                    Some(known) => {
                        known.timeout = known.timeout.max(hook.timeout);
                        known.failure_blocks |= hook.failure_blocks;
                    }
                    None => found.push(hook.clone()),
                }
            }
        }
        found
    }
}
