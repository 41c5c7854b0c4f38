//! What an approval with `--always` grants in addition to the call.

use serde::Deserialize as _;
use serde_json::Value;
use swarm_permissions::{Behavior, Rule, Suggestion};
use swarm_protocol::RequestRecord;

/// What an approval of a request with `--always` grants in addition to the call.
#[derive(Debug, Default)]
pub struct AlwaysGrants {
    /// Allow rules for the whole team.
    pub for_team: Vec<Rule>,
    /// Suggestions for the requester alone.
    pub for_requester: Vec<Value>,
}

impl AlwaysGrants {
    /// Returns the grants of a request. The suggestions of a member of another program arrive by
    /// mail, which is not signed, so none of them becomes a rule of the team. Invalid rules are
    /// ignored.
    pub fn of(request: &RequestRecord) -> Self {
        let mut grants = Self::default();
        for value in request.request.suggestions() {
            match Suggestion::deserialize(value) {
                Ok(Suggestion::AddRules {
                    rules,
                    behavior: Behavior::Allow,
                    ..
                }) if request.spawn_id.is_some() => {
                    let rules = rules.iter().filter_map(|rule| rule.rule().ok());
                    grants.for_team.extend(rules);
                }
                _ => grants.for_requester.push(value.clone()),
            }
        }
        grants
    }
}
