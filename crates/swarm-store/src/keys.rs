//! Signatures of grants: the Ed25519 key of a team, and its public half.

use ring::rand::{SecureRandom as _, SystemRandom};
use ring::signature::{ED25519, Ed25519KeyPair, KeyPair as _, UnparsedPublicKey};
use serde::{Deserialize, Serialize};
use swarm_protocol::{AnsweredBy, Grant, GrantSignature, LEAD_NAME, MessageId, TeamName, UnixMs};

/// The private half of a team's key.
#[derive(Debug)]
pub(crate) struct SigningKey(Ed25519KeyPair);

impl SigningKey {
    /// Creates the seed of a key, in hex.
    pub(crate) fn new_seed() -> Result<String, String> {
        let mut seed = [0; 32];
        let filled = SystemRandom::new().fill(&mut seed);
        filled.map_err(|_| "the system has no random numbers".to_owned())?;
        Ok(hex(&seed))
    }

    /// Returns the key with this seed; `None` if it is not one.
    pub(crate) fn from_seed(seed: &str) -> Option<Self> {
        let seed = unhex(seed)?;
        Ed25519KeyPair::from_seed_unchecked(&seed).ok().map(Self)
    }

    pub(crate) fn verify_key(&self) -> VerifyKey {
        VerifyKey(hex(self.0.public_key().as_ref()))
    }

    /// Signs a grant.
    pub(crate) fn signed(
        &self,
        team: &TeamName,
        grant: &Grant,
        mut by: AnsweredBy,
        at: UnixMs,
    ) -> AnsweredBy {
        let id = MessageId::random();
        let text = grant.signed_text(team, &by.by, &id, at);
        let value = hex(self.0.sign(text.as_bytes()).as_ref());
        by.signature = Some(GrantSignature { id, at, value });
        by
    }
}

/// Returns whether an answer is signed at all: what a member records for the lead of another
/// program is not.
pub(crate) fn is_signed_by(by: &AnsweredBy) -> bool {
    by.by != LEAD_NAME
}

/// The public half of a team's key, in hex. A member gets it in its spawn order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct VerifyKey(String);

impl VerifyKey {
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

fn hex(bytes: &[u8]) -> String {
    let digit = |nibble: u8| char::from(b"0123456789abcdef"[usize::from(nibble)]);
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 0xf]);
    digits.map(digit).collect()
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    let byte = |at| u8::from_str_radix(text.get(at..at + 2)?, 16).ok();
    let bytes = (0..text.len()).step_by(2).map(byte);
    bytes.collect()
}
