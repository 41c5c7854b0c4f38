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

#[cfg(test)]
mod tests {
    use serde_json::json;
    use swarm_protocol::{MemberName, RequestId, RequestKind, SpawnId, UnixMs};

    use super::*;

    #[test]
    fn only_allow_rules_of_swarms_members_become_rules_of_the_team() {
        for (behavior, is_of_swarm, for_team) in [
            ("allow", true, 1),
            ("deny", true, 0),
            ("ask", true, 0),
            ("allow", false, 0),
        ] {
            let rule = json!({"toolName": "Bash", "ruleContent": "make:*"});
            let kind = RequestKind::Permission {
                tool: "Bash".to_owned(),
                tool_use_id: "t1".to_owned(),
                input: json!({}),
                digest: String::new(),
                suggestions: vec![json!({
                    "type": "addRules", "rules": [rule], "behavior": behavior, "destination": "session",
                })],
            };
            let id = RequestId::new("perm-1-abcdefg");
            let from = MemberName::teammate("bob").unwrap();
            let record = RequestRecord {
                spawn_id: is_of_swarm.then(SpawnId::random),
                ..RequestRecord::open(id, from, kind, UnixMs(1))
            };
            let grants = AlwaysGrants::of(&record);
            let found = (grants.for_team.len(), grants.for_requester.len());
            assert_eq!(found, (for_team, 1 - for_team), "{behavior}");
        }
    }
}
