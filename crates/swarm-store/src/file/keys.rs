//! The files of a team's signing key: `swarm/keys/signing.key` (the seed, read by the lead and by
//! commands of a person) and `swarm/keys/signing.pub`, both in hex.

use std::path::Path;

use swarm_protocol::{AnsweredBy, Grant};

use crate::file::layout::TeamLayout;
use crate::file::team::FileTeam;
use crate::keys::{SigningKey, is_signed_by};
use crate::{Result, StoreError, VerifyKey};

/// Creates the key of a new team.
pub(crate) fn create_keys(at: &TeamLayout) -> Result<()> {
    let path = at.signing_key();
    let (key, seed) = SigningKey::create().map_err(|why| unusable(&path, &why))?;
    swarm_os::create_private_dir(&at.keys())?;
    swarm_os::replace_alone(&path, seed.as_bytes())?;
    let public = key.verify_key();
    Ok(swarm_os::replace_alone(
        &at.verify_key(),
        public.as_hex().as_bytes(),
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
    pub(crate) fn signed(&self, grant: &Grant, by: AnsweredBy) -> Result<AnsweredBy> {
        let path = self.at.signing_key();
        if !is_signed_by(&by) || self.verify_key()?.is_none() {
            return Ok(by);
        }
        let seed = text(&path)?.ok_or_else(|| unusable(&path, "it does not exist"))?;
        let key = SigningKey::from_seed(&seed).ok_or_else(|| unusable(&path, "it is not a key"))?;
        Ok(key.signed(&self.team, grant, by, self.now()))
    }
}

/// Returns the content of a key file; `None` if it does not exist.
fn text(path: &Path) -> Result<Option<String>> {
    let bytes = swarm_os::read_optional(path)?;
    let text = bytes.map(|bytes| String::from_utf8_lossy(&bytes).trim().to_owned());
    Ok(text)
}

fn unusable(path: &Path, why: &str) -> StoreError {
    StoreError::SigningKey {
        path: path.to_owned(),
        why: why.to_owned(),
    }
}
