//! The file `swarm/trust.json` below the config directory.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use swarm_os::{
    LockOptions, LockPlan, OsError, create_sidecar, ensure_private_dir, read_optional, with_lock,
};
use swarm_protocol::{ErrorKind, IsoTime, with_causes};

use crate::error::ConfigError;

/// The file with the trusted repositories.
#[derive(Debug, Clone)]
pub struct TrustFile {
    path: PathBuf,
}

/// The trusted repositories, by the canonical path of their top directory.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trusted {
    repositories: BTreeMap<PathBuf, TrustedRepository>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct TrustedRepository {
    trusted_at: IsoTime,
}

impl Trusted {
    /// Returns whether no repository is trusted.
    pub fn is_empty(&self) -> bool {
        self.repositories.is_empty()
    }

    /// Returns whether the repository with this canonical top directory is trusted.
    pub fn contains(&self, top: &Path) -> bool {
        self.repositories.contains_key(top)
    }

    /// Iterates over the repositories by path, with the time when each was trusted.
    pub fn iter(&self) -> impl Iterator<Item = (&Path, &IsoTime)> {
        self.repositories
            .iter()
            .map(|(path, kept)| (path.as_path(), &kept.trusted_at))
    }
}

impl TrustFile {
    /// Returns the file below a config directory.
    pub fn of(root: &Path) -> Self {
        Self {
            path: root.join("swarm").join("trust.json"),
        }
    }

    /// Reads the list; empty without a file.
    ///
    /// # Errors
    /// If the file is invalid, or other users could have written it.
    pub fn read(&self) -> Result<Trusted, ConfigError> {
        let Some(bytes) = read_optional(&self.path).map_err(|error| self.error(&error))? else {
            return Ok(Trusted::default());
        };
        serde_json::from_slice(&bytes).map_err(|error| {
            ConfigError::new(
                ErrorKind::Damaged,
                format!("corrupt file {}: {error}", self.path.display()),
                "move the file away, then trust the repositories again with `swarm trust`",
            )
        })
    }

    /// Adds a repository; `false` if it was already trusted.
    pub fn add(&self, top: &Path, now: IsoTime) -> Result<bool, ConfigError> {
        self.change(|list| {
            let is_new = !list.contains(top);
            let kept = TrustedRepository { trusted_at: now };
            list.repositories.entry(top.to_owned()).or_insert(kept);
            is_new
        })
    }

    /// Removes a repository; `false` if it was not trusted.
    pub fn remove(&self, top: &Path) -> Result<bool, ConfigError> {
        if !self.read()?.contains(top) {
            return Ok(false);
        }
        self.change(|list| list.repositories.remove(top).is_some())
    }

    /// Changes the list under the lock. `change` returns whether to write it.
    fn change(&self, change: impl FnOnce(&mut Trusted) -> bool) -> Result<bool, ConfigError> {
        let sidecar = self.path.with_extension("lock");
        let prepared = self.path.parent().map_or(Ok(()), ensure_private_dir);
        prepared
            .and_then(|()| create_sidecar(&sidecar))
            .map_err(|error| self.error(&error))?;
        let plan = LockPlan {
            sidecar: &sidecar,
            data: &[],
        };
        let done = with_lock(&plan, &LockOptions::default(), |held| {
            let mut list = match self.read() {
                Ok(list) => list,
                Err(error) => return Ok(Err(error)),
            };
            if !change(&mut list) {
                return Ok(Ok(false));
            }
            let text = serde_json::to_vec_pretty(&list).unwrap_or_default();
            held.replace(&self.path, &text)?;
            Ok(Ok(true))
        });
        done.map_err(|error: OsError| self.error(&error))?
    }

    fn error(&self, error: &OsError) -> ConfigError {
        ConfigError::new(
            ErrorKind::Environment,
            format!(
                "cannot access the list of trusted repositories: {}",
                with_causes(error)
            ),
            format!("check {}", self.path.display()),
        )
    }
}
