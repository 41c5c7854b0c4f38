//! Our handler for requests and notifications from a server.

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
use super::elicit::elicit;

/// Records changes of the tool list, displays progress and presents forms to a person. Log messages
/// are ignored; sampling is not offered, so the SDK rejects it.
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
        notification: ProgressNotificationParam,
        _context: NotificationContext<RoleClient>,
    ) {
        self.calls.show_progress(&notification);
    }

    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        _context: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        match self.calls.current() {
            Some(call) => elicit(&call, request)
                .await
                .map_err(|why| ErrorData::invalid_params(why, None)),
            // Without an active call there is no agent whose person could be asked.
            None => Ok(ElicitResult::new(ElicitationAction::Cancel)),
        }
    }
}
