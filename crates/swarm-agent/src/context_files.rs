//! File facts for permission decisions.

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use swarm_permissions::{FileFacts, RunsLater};
use swarm_tools::{ToolContext, leads_to};

/// The file system as an agent's tools see it.
#[derive(Debug)]
pub(crate) struct ContextFiles<'a>(pub(crate) &'a ToolContext);

impl FileFacts for ContextFiles<'_> {
    fn leads_to(&self, path: &Path, pattern: bool) -> Option<Vec<PathBuf>> {
        leads_to(path, pattern)
    }

    fn is_secret(&self, real: &Path) -> bool {
        self.0.protected.read_refusal(real).is_some()
    }

    fn secrets_below(&self, real: &Path) -> Vec<PathBuf> {
        self.0.protected.secrets_below(real)
    }

    fn has_other_names(&self, real: &Path) -> bool {
        real.symlink_metadata()
            .is_ok_and(|metadata| metadata.is_file() && metadata.nlink() > 1)
    }

    fn git_doubt(&self, directory: &Path) -> Option<&'static str> {
        let shims = self.0.guards.shims.as_ref();
        if !shims.is_some_and(|shims| shims.join("git").is_file()) {
            return Some(
                "git runs without the guard that prevents it from starting other programs",
            );
        }
        self.0.checkout.change(directory)
    }

    fn runs_later(&self, real: &Path) -> Option<RunsLater> {
        let (name, of_config_directory) = self.0.protected.runs_later(real)?;
        Some(RunsLater {
            name: name.to_owned(),
            of_config_directory,
        })
    }
}
