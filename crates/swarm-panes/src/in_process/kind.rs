//! The backend of tasks as a [`BackendKind`].

use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use swarm_protocol::BackendType;

use super::InProcessBackend;
use crate::{BackendKind, PaneBackend, PaneError, PanePlacement, TerminalFacts};

/// Members that are tasks of their lead's process.
#[derive(Debug)]
pub(crate) struct InProcess;

impl InProcess {
    fn open(facts: &TerminalFacts) -> InProcessBackend {
        InProcessBackend::new(&facts.own_socket_dir, facts.in_process.clone())
    }
}

#[async_trait]
impl BackendKind for InProcess {
    fn backend(&self) -> BackendType {
        BackendType::InProcess
    }

    async fn select(
        &self,
        _reason: &str,
        _place: PanePlacement,
        facts: &TerminalFacts,
    ) -> Result<(Arc<dyn PaneBackend>, String), PaneError> {
        let backend = Self::open(facts);
        backend.host()?;
        let why = "teammates run in the lead's process and end with it";
        Ok((Arc::new(backend), why.to_owned()))
    }

    fn is_automatic(&self) -> bool {
        false
    }

    fn backend_for_pane(
        &self,
        _socket: Option<&Path>,
        facts: &TerminalFacts,
    ) -> Result<Arc<dyn PaneBackend>, PaneError> {
        Ok(Arc::new(Self::open(facts)))
    }

    fn has_panes(&self) -> bool {
        false
    }
}
