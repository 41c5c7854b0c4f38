//! Skills: instructions that an agent reads on demand.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// A skill, found as `<directory>/skills/<name>/SKILL.md`. The text stays in its file until it is
/// needed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Skill {
    /// Name of its directory.
    pub name: String,
    /// When to use it, on one line; empty if the file does not say.
    pub description: String,
    /// Path of its `SKILL.md`.
    pub path: PathBuf,
    /// Allow rules that apply while it is in use; empty if its source may not grant permissions.
    pub allowed_tools: Vec<String>,
    /// Whether a separate agent follows it (`context: fork`).
    pub fork: bool,
    /// Type of that agent; `None` is the general-purpose type.
    pub agent: Option<String>,
    /// Model of that agent.
    pub model: Option<String>,
    /// Directory of the plugin that contains it: `${CLAUDE_PLUGIN_ROOT}` in its text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plugin: Option<PathBuf>,
    /// Whether only a person may start it (`disable-model-invocation`).
    pub person_only: bool,
}
