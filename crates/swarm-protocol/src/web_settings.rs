//! What agents may fetch from the network; it travels from the settings to every member.

use serde::{Deserialize, Serialize};

/// Bounds of the web tools.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct WebSettings {
    /// Address of a search server, `{query}` in it standing for what is searched. Without one there is no search.
    pub search_url: Option<String>,
    /// Whether addresses of this machine and of local networks may be fetched.
    pub private: bool,
}
