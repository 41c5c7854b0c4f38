//! The base directories of relative patterns in addition to an agent's working directory.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// The base directories of rules that an agent inherited from another agent. Deny and ask rules
/// apply from its working directory and from all of these; allow rules apply from `grants` only, so
/// that no rule allows more for a sub-agent than for its parent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Anchors {
    /// Working directories of the parent agents.
    pub above: Vec<PathBuf>,
    /// The directory that corresponds to the one where the rules were written; the working
    /// directory if absent.
    pub grants: Option<PathBuf>,
}

impl Anchors {
    /// The anchors of an agent without a parent.
    pub const NONE: &'static Self = &Self {
        above: Vec::new(),
        grants: None,
    };

    /// Returns the anchors of a child of an agent that has these anchors and works in `parent`.
    ///
    /// `copy_of_parent` is the child's copy of the parent's directory, if it has one: rules apply there
    /// as in the original.
    #[must_use]
    pub fn below(&self, parent: &Path, copy_of_parent: Option<&Path>) -> Self {
        let mut above = self.above.clone();
        if !above.iter().any(|known| known == parent) {
            above.push(parent.to_owned());
        }
        let written = self.grants.as_deref().unwrap_or(parent);
        let grants = match (copy_of_parent, parent.strip_prefix(written)) {
            (None, _) => written.to_owned(),
            // The copy's ancestor at the same distance as the rules' directory is from the parent.
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
    fn rules_apply_from_their_directory_or_its_copy() {
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
