//! The signing key of a team: `swarm/keys/signing.key` (the Ed25519 seed, read by the lead and by
//! commands of a person) and `swarm/keys/signing.pub`, both in hex.

use std::fmt::Display;
use std::path::Path;

use ring::rand::{SecureRandom as _, SystemRandom};
use ring::signature::{Ed25519KeyPair, KeyPair as _};
use swarm_protocol::{AnsweredBy, Grant, GrantSignature, LEAD_NAME, MessageId};

use crate::file_team::FileTeam;
use crate::layout::TeamLayout;
use crate::verify_key::{hex, unhex};
use crate::{Result, StoreError, VerifyKey};

/// Creates the key of a new team.
pub(crate) fn create_keys(at: &TeamLayout) -> Result<()> {
    let path = at.signing_key();
    let mut seed = [0; 32];
    let filled = SystemRandom::new().fill(&mut seed);
    filled.map_err(|_| unusable(&path, &"the system has no random numbers"))?;
    let pair = Ed25519KeyPair::from_seed_unchecked(&seed);
    let pair = pair.map_err(|error| unusable(&path, &error))?;
    swarm_os::create_private_dir(&at.keys())?;
    swarm_os::replace_alone(&path, hex(&seed).as_bytes())?;
    let public = hex(pair.public_key().as_ref());
    Ok(swarm_os::replace_alone(
        &at.verify_key(),
        public.as_bytes(),
    )?)
}

impl FileTeam {
    /// Returns the public half of the team's key; `None` for a team of another program or of an
    /// older version.
    pub(crate) fn verify_key(&self) -> Result<Option<VerifyKey>> {
        Ok(text(&self.at.verify_key())?.map(VerifyKey::new))
    }

    /// Signs a grant. What a member records for the lead of another program, and grants in a team
    /// without a key, are not signed.
    pub(crate) fn signed(&self, grant: &Grant, mut by: AnsweredBy) -> Result<AnsweredBy> {
        let path = self.at.signing_key();
        if by.by == LEAD_NAME || self.verify_key()?.is_none() {
            return Ok(by);
        }
        let seed = text(&path)?.ok_or_else(|| unusable(&path, &"it does not exist"))?;
        let pair = unhex(&seed)
            .and_then(|seed| Ed25519KeyPair::from_seed_unchecked(&seed).ok())
            .ok_or_else(|| unusable(&path, &"it is not a key"))?;
        let (id, at) = (MessageId::random(), self.now());
        let text = grant.signed_text(&self.team, &by.by, &id, at);
        let value = hex(pair.sign(text.as_bytes()).as_ref());
        by.signature = Some(GrantSignature { id, at, value });
        Ok(by)
    }
}

/// Returns the content of a key file; `None` if it does not exist.
fn text(path: &Path) -> Result<Option<String>> {
    let bytes = swarm_os::read_optional(path)?;
    let text = bytes.map(|bytes| String::from_utf8_lossy(&bytes).trim().to_owned());
    Ok(text)
}

fn unusable(path: &Path, why: &dyn Display) -> StoreError {
    StoreError::SigningKey {
        path: path.to_owned(),
        why: why.to_string(),
    }
}
