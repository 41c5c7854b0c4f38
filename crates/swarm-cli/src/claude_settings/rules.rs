//! Permission rules as members are told them.

use swarm_policy::{RuleSet, SourcedRule};
use swarm_protocol::RuleText;
use swarm_supervisor::RuleTexts;

/// The rules as texts with their origins.
pub(super) fn texts(rules: &RuleSet) -> RuleTexts {
    let texts = |rules: &[SourcedRule]| {
        rules
            .iter()
            .map(|sourced| RuleText {
                rule: sourced.rule.to_string(),
                origin: sourced.origin.clone(),
            })
            .collect()
    };
    RuleTexts {
        allow: texts(&rules.allow),
        deny: texts(&rules.deny),
        ask: texts(&rules.ask),
    }
}
