//! The directories that relative patterns start from besides an agent's working directory.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// Where the rules of an agent were meant that has them of another. What denies or asks holds from its working directory and from all of these;
/// what allows holds from `grants` alone, so that no rule grants more below an agent than it does for the agent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Anchors {
    /// Working directories of the agents above.
    pub above: Vec<PathBuf>,
    /// The directory that stands for the one where the rules were written; the working directory itself if absent.
    pub grants: Option<PathBuf>,
}

impl Anchors {
    /// Those of an agent with nobody above it.
    pub const NONE: &'static Self = &Self {
        above: Vec::new(),
        grants: None,
    };

    /// Those of an agent below one with these anchors that works in `parent`.
    ///
    /// `stand_in` is given where the agent has a copy of the parent's directory: rules hold there as they do in the original.
    #[must_use]
    pub fn below(&self, parent: &Path, stand_in: Option<&Path>) -> Self {
        let mut above = self.above.clone();
        if !above.iter().any(|known| known == parent) {
            above.push(parent.to_owned());
        }
        let written = self.grants.as_deref().unwrap_or(parent);
        let grants = match (stand_in, parent.strip_prefix(written)) {
            (None, _) => written.to_owned(),
            // As far up in the copy as the parent's rules begin above the parent.
            (Some(copy), Ok(rest)) => copy
                .ancestors()
                .nth(rest.components().count())
                .unwrap_or(copy)
                .to_owned(),
            (Some(copy), Err(_)) => match written.strip_prefix(parent) {
                Ok(rest) => copy.join(rest),
                Err(_) => copy.to_owned(),
            },
        };
        Self {
            grants: Some(grants),
            above,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_start_where_they_were_written_or_where_a_copy_of_that_is() {
        let in_sub = Anchors::NONE.below(Path::new("/repo"), None);
        assert_eq!(in_sub.grants.as_deref(), Some(Path::new("/repo")));
        let below = in_sub.below(Path::new("/repo/a/b"), Some(Path::new("/copy/a/b")));
        assert_eq!(below.grants.as_deref(), Some(Path::new("/copy")));
        assert_eq!(below.above, [Path::new("/repo"), Path::new("/repo/a/b")]);
        let further_up = in_sub.below(Path::new("/"), Some(Path::new("/copy")));
        assert_eq!(further_up.grants.as_deref(), Some(Path::new("/copy/repo")));
        let lost = in_sub.below(Path::new("/else"), Some(Path::new("/copy")));
        assert_eq!(lost.grants.as_deref(), Some(Path::new("/copy")));
    }
}
