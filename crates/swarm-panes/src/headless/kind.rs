//! The headless backend as a [`BackendKind`].

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use swarm_protocol::{BackendType, PaneId};

use crate::{
    BackendCheck, BackendKind, HeadlessBackend, PaneBackend, PaneError, PanePlacement,
    TerminalFacts,
};

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

    fn backends(
        &self,
        _sockets: &BTreeSet<PathBuf>,
        facts: &TerminalFacts,
    ) -> Vec<Arc<dyn PaneBackend>> {
        vec![Self::open(facts)]
    }

    fn own_pane(&self, _variable: &dyn Fn(&str) -> Option<String>) -> Option<PaneId> {
        None
    }

    fn has_panes(&self) -> bool {
        false
    }

    fn describe(&self, _pane: &PaneId, _server: Option<&str>) -> String {
        self.backend().name().to_owned()
    }

    async fn check(&self, _facts: &TerminalFacts) -> Option<BackendCheck> {
        None
    }
}
