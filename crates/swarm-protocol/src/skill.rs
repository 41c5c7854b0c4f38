//! Skills: instructions that an agent reads when it needs them.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// A skill that was found, as `<directory>/skills/<name>/SKILL.md`. The text stays in its file until it is asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Skill {
    /// The name of its directory.
    pub name: String,
    /// When to use it, on one line; empty where the file does not say.
    pub description: String,
    /// Its `SKILL.md`.
    pub path: PathBuf,
    /// Permission rules whose calls run without a question while it is in use; empty where its source may grant nothing.
    pub allowed_tools: Vec<String>,
    /// Whether an agent of its own follows it (`context: fork`).
    pub fork: bool,
    /// The type of that agent; `None` is the general one.
    pub agent: Option<String>,
    /// The model of that agent.
    pub model: Option<String>,
    /// Whether only a person may start it (`disable-model-invocation`).
    pub person_only: bool,
}
