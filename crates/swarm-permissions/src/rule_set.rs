//! The effective rules of an agent, each with its origin.

use std::fmt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use swarm_protocol::RuleText;

use crate::question::absolute;
use crate::{Behavior, Rule, RuleError, RuleValue, Suggestion};

/// A rule and its origin.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourcedRule {
    /// The rule.
    pub rule: Rule,
    /// The origin, such as the path of a settings file, `definition explorer`, `flag`, `team` or `session`.
    pub origin: String,
}

impl fmt::Display for SourcedRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` ({})", self.rule, self.origin)
    }
}

impl From<&SourcedRule> for RuleText {
    fn from(sourced: &SourcedRule) -> Self {
        Self {
            rule: sourced.rule.to_string(),
            origin: sourced.origin.clone(),
        }
    }
}

/// A tool limited to certain calls.
///
/// Unlike an allow rule it allows nothing: matching calls are still decided by the other rules and
/// the mode.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallLimit {
    /// The tool, or the tools of an MCP server.
    pub tool: String,
    /// The permitted calls; all others are denied.
    pub calls: Vec<Rule>,
    /// The origin, such as `definition explorer`.
    pub origin: String,
}

/// All effective rules of an agent.
///
/// Patterns without `//` or `~/` are relative to the working directory of the agent that uses the
/// set: a member in its own worktree has the same rules there.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RuleSet {
    /// Calls that run without approval.
    pub allow: Vec<SourcedRule>,
    /// Calls that are denied.
    pub deny: Vec<SourcedRule>,
    /// Calls that always require approval.
    pub ask: Vec<SourcedRule>,
    /// Absolute paths of additional working directories.
    pub directories: Vec<PathBuf>,
    /// Tools limited to certain calls; all limits apply.
    pub limits: Vec<CallLimit>,
}

impl RuleSet {
    /// Returns the rules of one list.
    pub fn list(&self, behavior: Behavior) -> &[SourcedRule] {
        match behavior {
            Behavior::Allow => &self.allow,
            Behavior::Deny => &self.deny,
            Behavior::Ask => &self.ask,
        }
    }

    /// Adds a rule to one list, unless it is already present.
    pub fn add(&mut self, behavior: Behavior, rule: Rule, origin: impl Into<String>) {
        let list = match behavior {
            Behavior::Allow => &mut self.allow,
            Behavior::Deny => &mut self.deny,
            Behavior::Ask => &mut self.ask,
        };
        if !list.iter().any(|known| known.rule == rule) {
            list.push(SourcedRule {
                rule,
                origin: origin.into(),
            });
        }
    }

    /// Adds another layer of settings.
    pub fn extend(&mut self, other: RuleSet) {
        for behavior in Behavior::ALL {
            for SourcedRule { rule, origin } in other.list(behavior) {
                self.add(behavior, rule.clone(), origin.clone());
            }
        }
        extend_new(&mut self.limits, other.limits);
        extend_new(&mut self.directories, other.directories);
    }

    /// Returns only the deny rules, ask rules and limits, for sources that may only restrict.
    #[must_use]
    pub fn restrictions(&self) -> RuleSet {
        RuleSet {
            deny: self.deny.clone(),
            ask: self.ask.clone(),
            limits: self.limits.clone(),
            ..RuleSet::default()
        }
    }

    /// Applies a change from an approval. A mode change must be handled by the caller and is
    /// ignored.
    ///
    /// # Errors
    /// [`RuleError`] if a rule is invalid; then nothing is changed.
    pub fn apply(&mut self, change: &Suggestion, origin: &str) -> Result<(), RuleError> {
        match change {
            Suggestion::AddRules {
                rules, behavior, ..
            } => {
                let rules: Result<Vec<Rule>, _> = rules.iter().map(RuleValue::rule).collect();
                for rule in rules? {
                    self.add(*behavior, rule, origin);
                }
            }
            Suggestion::AddDirectories { directories, .. } => {
                let absolutes = directories.iter().filter(|path| path.starts_with('/'));
                let absolutes = absolutes.map(|path| absolute(path, Path::new("/")));
                extend_new(&mut self.directories, absolutes);
            }
            Suggestion::SetMode { .. } => {}
        }
        Ok(())
    }
}

/// Appends the items that are not in the list yet.
fn extend_new<T: PartialEq>(list: &mut Vec<T>, items: impl IntoIterator<Item = T>) {
    for item in items {
        if !list.contains(&item) {
            list.push(item);
        }
    }
}
