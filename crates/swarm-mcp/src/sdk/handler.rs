//! What we answer when a server speaks first.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rmcp::model::{
    ClientCapabilities, ClientConfig, ElicitRequestParams, ElicitResult, ElicitationAction,
    ElicitationCapability, ErrorData, FormElicitationCapability, Implementation,
    ProgressNotificationParam,
};
use rmcp::service::{NotificationContext, RequestContext};
use rmcp::{ClientHandler, RoleClient};

use super::calls::ActiveCalls;
use super::elicit::elicited;

/// Takes note of a changed list of tools, shows progress, and puts forms before a person. Log messages are taken and left
/// alone; asking our model is not offered, and so refused by the SDK.
#[derive(Debug, Clone, Default)]
pub(super) struct Handler {
    pub(super) list_changed: Arc<AtomicBool>,
    pub(super) calls: ActiveCalls,
}

impl ClientHandler for Handler {
    fn get_info(&self) -> ClientConfig {
        let name = Implementation::new("swarm", env!("CARGO_PKG_VERSION"));
        let forms = ElicitationCapability::new().with_form(FormElicitationCapability::new());
        let mut capabilities = ClientCapabilities::default();
        capabilities.elicitation = Some(forms);
        ClientConfig::new(capabilities, name)
    }

    async fn on_tool_list_changed(&self, _context: NotificationContext<RoleClient>) {
        self.list_changed.store(true, Ordering::Release);
    }

    async fn on_progress(
        &self,
        news: ProgressNotificationParam,
        _context: NotificationContext<RoleClient>,
    ) {
        self.calls.progressed(&news);
    }

    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        _context: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        match self.calls.asking() {
            Some(call) => elicited(&call, request)
                .await
                .map_err(|why| ErrorData::invalid_params(why, None)),
            // No agent has called the server, so there is nobody whose person could be asked.
            None => Ok(ElicitResult::new(ElicitationAction::Cancel)),
        }
    }
}
