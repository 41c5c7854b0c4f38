//! The file of a team's signing key: `swarm/keys/signing.key`, the seed in hex, which the lead and
//! commands of a person read.

use std::path::Path;

use swarm_protocol::{AnsweredBy, Grant};

use crate::file::layout::TeamLayout;
use crate::file::team::FileTeam;
use crate::keys::{SigningKey, is_signed_by};
use crate::{Result, StoreError, VerifyKey};

/// Creates the key of a new team.
pub(crate) fn create_keys(at: &TeamLayout) -> Result<()> {
    let path = at.signing_key();
    let seed = SigningKey::new_seed().map_err(|why| unusable(&path, &why))?;
    swarm_os::create_private_dir(&at.keys())?;
    Ok(swarm_os::replace_alone(&path, seed.as_bytes())?)
}

impl FileTeam {
    /// Returns the public half of the team's key; `None` for a team of another program.
    pub(crate) fn verify_key(&self) -> Result<Option<VerifyKey>> {
        Ok(self.key()?.map(|key| key.verify_key()))
    }

    /// Signs a grant. What a member records for the lead of another program, and grants in a team of
    /// another program, are not signed.
    pub(crate) fn signed(&self, grant: &Grant, by: AnsweredBy) -> Result<AnsweredBy> {
        if !is_signed_by(&by) {
            return Ok(by);
        }
        Ok(match self.key()? {
            Some(key) => key.signed(&self.team, grant, by, self.now()),
            None => by,
        })
    }

    /// Returns the team's key; `None` for a team of another program. Without this error, a member of a
    /// team whose key was lost would accept unsigned grants.
    fn key(&self) -> Result<Option<SigningKey>> {
        let path = self.at.signing_key();
        let Some(seed) = swarm_os::read_optional(&path)? else {
            if !self.exists() {
                return Err(self.not_found());
            }
            if self.is_foreign() || self.is_adopted()? {
                return Ok(None);
            }
            return Err(unusable(&path, "it does not exist"));
        };
        let key = SigningKey::from_seed(String::from_utf8_lossy(&seed).trim());
        key.map(Some)
            .ok_or_else(|| unusable(&path, "it is not a key"))
    }
}

fn unusable(path: &Path, why: &str) -> StoreError {
    StoreError::SigningKey {
        path: path.to_owned(),
        why: why.to_owned(),
    }
}
