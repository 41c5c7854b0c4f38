//! Skills: instructions that an agent reads when it needs them.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// A skill that was found, as `<folder>/skills/<name>/SKILL.md`. The text stays in its file until it is asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Skill {
    /// The name of its folder.
    pub name: String,
    /// When to use it, on one line; empty where the file does not say.
    pub description: String,
    /// Its `SKILL.md`.
    pub path: PathBuf,
}
