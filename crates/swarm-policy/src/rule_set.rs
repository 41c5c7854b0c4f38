//! The rules in force for an agent, each with its origin.

use std::path::PathBuf;

use crate::Rule;

/// A rule and where it came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourcedRule {
    /// The rule.
    pub rule: Rule,
    /// Such as the path of a settings file, `definition explorer`, `flag`, `session`.
    pub origin: String,
}

/// Every rule in force for one agent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RuleSet {
    /// Calls that run without a question.
    pub allow: Vec<SourcedRule>,
    /// Calls that are refused.
    pub deny: Vec<SourcedRule>,
    /// Calls that are always asked about.
    pub ask: Vec<SourcedRule>,
    /// Folders that count as part of the working folder, absolute.
    pub directories: Vec<PathBuf>,
}

impl RuleSet {
    /// The set as its parent's rights allow it: rights only shrink.
    #[must_use]
    pub fn tightened_by(&self, _parent: &RuleSet) -> RuleSet {
        RuleSet::default()
    }
}
