//! Grants of a person or lead, and the text that a signature covers.

use serde_json::{Value, json};

use crate::{Answer, MessageId, RequestRecord, SpawnId, TeamName, UnixMs, input_digest};

/// Begins every signed text, so that a signature is valid for nothing else.
const DOMAIN: &str = "swarm-grant v1";

/// What a signature covers: an approval, a mode, or a rule for a team.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grant {
    /// `type` of the frame that notifies the receiver.
    pub kind: String,
    /// Spawn of the receiver; `None` for a member of another program and for a whole team.
    pub spawn_id: Option<SpawnId>,
    /// Id of the request; empty without one.
    pub request: String,
    /// [`input_digest`] of the call that was shown; empty without one.
    pub digest: String,
    /// What is granted.
    pub granted: Value,
}

impl Grant {
    /// An answer to a request.
    pub fn answer(asked: &RequestRecord, answer: &Answer) -> Self {
        Self {
            kind: asked.request.response_type().to_owned(),
            spawn_id: asked.spawn_id,
            request: asked.id.to_string(),
            digest: asked.request.computed_digest(),
            granted: json!(answer),
        }
    }

    /// A permission mode.
    pub fn mode(spawn_id: Option<SpawnId>, mode: &str) -> Self {
        Self {
            kind: "mode_set_request".to_owned(),
            spawn_id,
            request: String::new(),
            digest: String::new(),
            granted: json!(mode),
        }
    }

    /// An allow rule for all members of a team.
    pub fn team_rule(rule: &str) -> Self {
        Self {
            kind: "team_permission_update".to_owned(),
            spawn_id: None,
            request: String::new(),
            digest: String::new(),
            granted: json!(rule),
        }
    }

    /// The end of an allow rule for all members of a team.
    pub fn team_rule_removal(rule: &str) -> Self {
        Self {
            kind: "team_rule_removed".to_owned(),
            ..Self::team_rule(rule)
        }
    }

    /// Returns the signed text: a line that names the format, then one JSON array. `signer` is who
    /// granted it, as in [`crate::AnsweredBy::by`].
    pub fn signed_text(&self, team: &TeamName, signer: &str, id: &MessageId, at: UnixMs) -> String {
        let granted = input_digest("", &self.granted);
        let fields = json!([
            self.kind,
            team,
            self.spawn_id,
            self.request,
            self.digest,
            granted,
            id,
            at,
            signer
        ]);
        format!("{DOMAIN}\n{fields}")
    }
}
