//! What we answer when a server speaks first.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rmcp::model::{ClientCapabilities, ClientConfig, Implementation};
use rmcp::service::NotificationContext;
use rmcp::{ClientHandler, RoleClient};

/// Takes note of a changed list of tools. Progress and log messages are taken and left alone; what a server would have
/// the client do (ask a person, ask a model) is not offered, and so refused by the SDK.
#[derive(Debug, Clone, Default)]
pub(super) struct Handler {
    pub(super) list_changed: Arc<AtomicBool>,
}

impl ClientHandler for Handler {
    fn get_info(&self) -> ClientConfig {
        let name = Implementation::new("swarm", env!("CARGO_PKG_VERSION"));
        ClientConfig::new(ClientCapabilities::default(), name)
    }

    async fn on_tool_list_changed(&self, _context: NotificationContext<RoleClient>) {
        self.list_changed.store(true, Ordering::Release);
    }
}
