//! Network access of agents; passed from the settings to every member.

use serde::{Deserialize, Serialize};

/// Settings of the web tools.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct WebSettings {
    /// Address of a search server, with `{query}` as the placeholder. Search is disabled without
    /// one.
    pub search_url: Option<String>,
    /// Whether addresses of this machine and of local networks may be fetched.
    pub private: bool,
}
