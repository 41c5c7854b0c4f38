//! The rules in force for an agent, each with its origin.

use std::path::{Path, PathBuf};

use crate::question::absolute;
use crate::{Behavior, Rule, RuleError, RuleValue, Suggestion};

/// A rule and where it came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourcedRule {
    /// The rule.
    pub rule: Rule,
    /// Such as the path of a settings file, `definition explorer`, `flag`, `session`.
    pub origin: String,
}

/// A tool of which an agent has certain calls alone.
///
/// Unlike a grant it allows nothing: whatever fits is still decided by the other rules and the mode.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallLimit {
    /// The tool, or those of an MCP server.
    pub tool: String,
    /// A call that fits none of these is refused.
    pub calls: Vec<Rule>,
    /// Such as `definition explorer`.
    pub origin: String,
}

/// Every rule in force for one agent.
///
/// Patterns without `//` or `~/` start from the working directory of whoever the set is used for: a member in its own
/// worktree has the same rules there.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RuleSet {
    /// Calls that run without a question.
    pub allow: Vec<SourcedRule>,
    /// Calls that are refused.
    pub deny: Vec<SourcedRule>,
    /// Calls that are always asked about.
    pub ask: Vec<SourcedRule>,
    /// Directories that count as part of the working directory, absolute.
    pub directories: Vec<PathBuf>,
    /// Tools that are limited to certain calls; each limit holds.
    pub limits: Vec<CallLimit>,
}

impl RuleSet {
    /// The rules of one list.
    pub fn list(&self, behavior: Behavior) -> &[SourcedRule] {
        match behavior {
            Behavior::Allow => &self.allow,
            Behavior::Deny => &self.deny,
            Behavior::Ask => &self.ask,
        }
    }

    /// Adds a rule to one list, unless it stands there.
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

    /// Adds another layer of settings to this one.
    pub fn extend(&mut self, other: RuleSet) {
        for behavior in [Behavior::Allow, Behavior::Deny, Behavior::Ask] {
            for SourcedRule { rule, origin } in other.list(behavior) {
                self.add(behavior, rule.clone(), origin.clone());
            }
        }
        for limit in other.limits {
            if !self.limits.contains(&limit) {
                self.limits.push(limit);
            }
        }
        for directory in other.directories {
            if !self.directories.contains(&directory) {
                self.directories.push(directory);
            }
        }
    }

    /// The denials, questions and limits alone: what a source that may only tighten contributes.
    #[must_use]
    pub fn restrictions(&self) -> RuleSet {
        RuleSet {
            deny: self.deny.clone(),
            ask: self.ask.clone(),
            limits: self.limits.clone(),
            ..RuleSet::default()
        }
    }

    /// Takes over what an answer granted. A change of mode is the caller's business and is ignored here.
    ///
    /// # Errors
    /// When a rule is not valid; nothing is taken over then.
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
                for directory in directories.iter().filter(|path| path.starts_with('/')) {
                    let directory = absolute(directory, Path::new("/"));
                    if !self.directories.contains(&directory) {
                        self.directories.push(directory);
                    }
                }
            }
            Suggestion::SetMode { .. } => {}
        }
        Ok(())
    }
}
