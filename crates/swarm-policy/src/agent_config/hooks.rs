//! Hooks as settings and definitions list them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::HookEvent;
use super::hook_matcher::matches;

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

/// A command that runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HookCommand {
    /// The command line for the shell.
    pub command: String,
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

    /// Gives every command that names no time limit this one, in seconds.
    #[must_use]
    pub fn with_time_limit(mut self, seconds: u64) -> Self {
        for group in self.events.values_mut().flatten() {
            for hook in &mut group.hooks {
                hook.timeout.get_or_insert(seconds);
            }
        }
        self
    }

    /// What runs at an event, in order. `subject` is what matchers are held against: a tool or an agent type. The same
    /// command line runs once, with the longest time limit that any of its entries gives it.
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
                match found.iter_mut().find(|known| known.command == hook.command) {
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
