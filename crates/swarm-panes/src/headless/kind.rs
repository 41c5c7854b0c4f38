//! The headless backend as a [`BackendKind`].

use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use swarm_protocol::BackendType;

use crate::{BackendKind, HeadlessBackend, PaneBackend, PaneError, PanePlacement, TerminalFacts};

/// Members without a terminal.
#[derive(Debug)]
pub(crate) struct Headless;

impl Headless {
    fn open(facts: &TerminalFacts) -> Arc<dyn PaneBackend> {
        Arc::new(HeadlessBackend::new(facts.own_socket_dir.clone()))
    }
}

#[async_trait]
impl BackendKind for Headless {
    fn backend(&self) -> BackendType {
        BackendType::Headless
    }

    async fn select(
        &self,
        reason: &str,
        _place: PanePlacement,
        facts: &TerminalFacts,
    ) -> Result<(Arc<dyn PaneBackend>, String), PaneError> {
        Ok((Self::open(facts), format!("running headless ({reason})")))
    }

    fn backend_for_pane(
        &self,
        _socket: Option<&Path>,
        facts: &TerminalFacts,
    ) -> Result<Arc<dyn PaneBackend>, PaneError> {
        Ok(Self::open(facts))
    }

    fn has_panes(&self) -> bool {
        false
    }
}
