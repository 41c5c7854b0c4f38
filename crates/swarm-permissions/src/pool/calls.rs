//! Restrictions of single calls in a definition.

use super::ToolSelector;
use super::ceiling::selectors;
use crate::{AgentDefinition, Behavior, CallLimit, Rule, RuleSet, ToolAllowance};

impl AgentDefinition {
    /// Returns the rules for the patterns in the definition's tool lists: `Bash(git:*)` in `tools`
    /// limits the calls of that tool, unless the whole tool is also listed; in `disallowedTools` it
    /// denies them.
    pub fn call_rules(&self) -> RuleSet {
        let origin = format!("definition {}", self.name);
        let mut rules = RuleSet::default();
        for rule in calls(&self.disallowed_tools) {
            rules.add(Behavior::Deny, rule, &origin);
        }
        let ToolAllowance::Only(entries) = &self.tools else {
            return rules;
        };
        let is_whole = |tool: &str| {
            let mut selectors = selectors(entries);
            selectors.any(|one| !matches!(one, ToolSelector::Calls(_)) && one.names(tool))
        };
        for rule in calls(entries) {
            let tool = rule.tool();
            if is_whole(tool) {
                continue;
            }
            match rules.limits.iter_mut().find(|limit| limit.tool == tool) {
                Some(limit) => limit.calls.push(rule),
                None => rules.limits.push(CallLimit {
                    tool: tool.to_owned(),
                    calls: vec![rule],
                    origin: origin.clone(),
                }),
            }
        }
        rules
    }
}

fn calls(entries: &[String]) -> impl Iterator<Item = Rule> {
    selectors(entries).filter_map(|selector| match selector {
        ToolSelector::Calls(rule) => Some(rule),
        _ => None,
    })
}
