//! What names of models mean, and which of them may be used.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// What there is to know of names of models beside the names themselves.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ModelNames {
    /// `CLAUDE_CODE_SUBAGENT_MODEL`.
    pub environment: Option<String>,
    /// Short names.
    pub aliases: BTreeMap<String, String>,
    /// The one model, by its full name, that the machine's policy allows; `None` allows all.
    pub only: Option<String>,
}
