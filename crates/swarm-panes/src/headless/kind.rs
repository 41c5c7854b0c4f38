//! The headless backend among the others.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use swarm_protocol::{BackendType, PaneId};

use crate::{
    BackendCheck, BackendKind, HeadlessBackend, PaneBackend, PaneError, Place, TerminalFacts,
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
        _place: Place,
        facts: &TerminalFacts,
    ) -> Result<(Arc<dyn PaneBackend>, String), PaneError> {
        Ok((Self::open(facts), format!("running headless ({reason})")))
    }

    fn reach(
        &self,
        _socket: Option<&Path>,
        facts: &TerminalFacts,
    ) -> Result<Arc<dyn PaneBackend>, PaneError> {
        Ok(Self::open(facts))
    }

    fn places(
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
