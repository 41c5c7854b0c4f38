//! Verification of signed grants.

use ring::signature::{ED25519, UnparsedPublicKey};
use serde::{Deserialize, Serialize};
use swarm_protocol::{AnsweredBy, Grant, TeamName};

/// The public half of a team's key, in hex. A member gets it in its spawn order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct VerifyKey(String);

impl VerifyKey {
    pub(crate) fn new(hex: String) -> Self {
        Self(hex)
    }

    /// Returns whether this key's private half has signed the grant for a team, as recorded.
    pub fn verifies(&self, team: &TeamName, grant: &Grant, by: &AnsweredBy) -> bool {
        let Some(signature) = &by.signature else {
            return false;
        };
        let text = grant.signed_text(team, &by.by, &signature.id, signature.at);
        let (Some(key), Some(value)) = (unhex(&self.0), unhex(&signature.value)) else {
            return false;
        };
        let key = UnparsedPublicKey::new(&ED25519, key);
        key.verify(text.as_bytes(), &value).is_ok()
    }
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    let digit = |nibble: u8| char::from(b"0123456789abcdef"[usize::from(nibble)]);
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 0xf]);
    digits.map(digit).collect()
}

pub(crate) fn unhex(text: &str) -> Option<Vec<u8>> {
    let byte = |at| u8::from_str_radix(text.get(at..at + 2)?, 16).ok();
    let bytes = (0..text.len()).step_by(2).map(byte);
    bytes.collect()
}
