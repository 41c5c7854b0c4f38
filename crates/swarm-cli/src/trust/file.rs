//! `swarm/trust.json` below the root folder.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use swarm_fs::{
    FsError, LockOptions, LockPlan, create_sidecar, ensure_private_dir, read_optional, with_lock,
};
use swarm_protocol::{ErrorKind, IsoTime};

use crate::failure::{Failure, with_causes};

/// The file with the list.
#[derive(Debug, Clone)]
pub(crate) struct TrustFile {
    path: PathBuf,
}

/// The list: canonical paths of the tops of repositories.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Trusted {
    repositories: BTreeMap<PathBuf, TrustedRepository>,
}

/// What is kept of one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct TrustedRepository {
    trusted_at: IsoTime,
}

impl Trusted {
    pub(crate) fn is_empty(&self) -> bool {
        self.repositories.is_empty()
    }

    /// Whether the repository with this canonical top is in it.
    pub(crate) fn contains(&self, top: &Path) -> bool {
        self.repositories.contains_key(top)
    }

    /// All of them by path, with the time at which each was trusted.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&Path, &IsoTime)> {
        self.repositories
            .iter()
            .map(|(path, kept)| (path.as_path(), &kept.trusted_at))
    }
}

impl TrustFile {
    /// The file below this root folder.
    pub(crate) fn of(root: &Path) -> Self {
        Self {
            path: root.join("swarm").join("trust.json"),
        }
    }

    /// The list; empty where there is no file.
    ///
    /// # Errors
    /// [`ErrorKind::Damaged`] for one that is not understood, or that somebody else could have written.
    pub(crate) fn read(&self) -> Result<Trusted, Failure> {
        let Some(bytes) = read_optional(&self.path).map_err(|error| self.failure(&error))? else {
            return Ok(Trusted::default());
        };
        serde_json::from_slice(&bytes).map_err(|error| {
            let message = format!("{} is damaged: {error}", self.path.display());
            Failure::new(ErrorKind::Damaged, message).with_hint(
                "move it away, and trust the repositories that you want again with `swarm trust`",
            )
        })
    }

    /// Puts a repository on the list; `false` if it was there.
    pub(crate) fn add(&self, top: &Path, now: IsoTime) -> Result<bool, Failure> {
        self.change(|list| {
            let is_new = !list.contains(top);
            let kept = TrustedRepository { trusted_at: now };
            list.repositories.entry(top.to_owned()).or_insert(kept);
            is_new
        })
    }

    /// Takes a repository off the list; `false` if it was not there.
    pub(crate) fn remove(&self, top: &Path) -> Result<bool, Failure> {
        if !self.read()?.contains(top) {
            return Ok(false);
        }
        self.change(|list| list.repositories.remove(top).is_some())
    }

    /// One change under the lock. `change` tells whether there is something to write.
    fn change(&self, change: impl FnOnce(&mut Trusted) -> bool) -> Result<bool, Failure> {
        let sidecar = self.path.with_extension("lock");
        let prepared = self.path.parent().map_or(Ok(()), ensure_private_dir);
        prepared
            .and_then(|()| create_sidecar(&sidecar))
            .map_err(|error| self.failure(&error))?;
        let plan = LockPlan {
            sidecar: &sidecar,
            data: &[],
        };
        let done = with_lock(&plan, &LockOptions::default(), |held| {
            let mut list = match self.read() {
                Ok(list) => list,
                Err(failure) => return Ok(Err(failure)),
            };
            if !change(&mut list) {
                return Ok(Ok(false));
            }
            let text = serde_json::to_vec_pretty(&list).unwrap_or_default();
            held.replace(&self.path, &text)?;
            Ok(Ok(true))
        });
        done.map_err(|error: FsError| self.failure(&error))?
    }

    fn failure(&self, error: &FsError) -> Failure {
        let message = format!("the list of trusted repositories: {}", with_causes(error));
        Failure::new(ErrorKind::Environment, message)
            .with_hint(format!("look at {}", self.path.display()))
    }
}
