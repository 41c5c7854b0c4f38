//! A program of the user as a [`PaneDriver`].

use std::ffi::OsString;
use std::path::PathBuf;

use async_trait::async_trait;
use swarm_protocol::{BackendType, PaneId};

use super::driver::{NewPane, PaneDriver, output_of};
use crate::{PaneError, text};

/// A program with the verbs `open`, `close`, `capture` and `focus`. See `docs/formats.md`.
#[derive(Debug, Clone)]
pub struct PaneProgram {
    /// Absolute path of the program.
    pub program: PathBuf,
    /// Its environment, to which [`PaneDriver::open`] adds the description of the pane.
    pub env: Vec<(String, String)>,
}

#[async_trait]
impl PaneDriver for PaneProgram {
    fn backend(&self) -> BackendType {
        BackendType::Command
    }

    fn has_unique_ids(&self) -> bool {
        false
    }

    async fn open(&self, pane: NewPane<'_>) -> Result<PaneId, PaneError> {
        let spec = pane.spec;
        let color = spec.color.as_ref().map_or("", |color| color.name());
        let described = [
            ("SWARM_PANE_TEAM", spec.team.as_str()),
            ("SWARM_PANE_MEMBER", spec.member.as_str()),
            ("SWARM_PANE_TITLE", &text::shown(&spec.title)),
            ("SWARM_PANE_COLOR", color),
            ("SWARM_PANE_NEWEST", pane.newest.map_or("", PaneId::as_str)),
        ];
        let mut env = self.env.clone();
        env.extend(described.map(|(name, value)| (name.to_owned(), value.to_owned())));
        let words: Vec<OsString> = std::iter::once("open".into()).chain(pane.command).collect();
        let said = output_of(&self.program, &words, &env).await?;
        let id = said.lines().map(str::trim).find(|line| !line.is_empty());
        let id = id.ok_or_else(|| PaneError::ControlProgram {
            program: self.program.clone(),
            command: "open".to_owned(),
            message: "it printed no pane id".to_owned(),
        })?;
        Ok(PaneId::new(id))
    }

    async fn close(&self, id: &PaneId) -> Result<(), PaneError> {
        let words = ["close".into(), id.as_str().into()];
        output_of(&self.program, &words, &self.env).await.map(drop)
    }

    async fn capture(&self, id: &PaneId, _lines: Option<usize>) -> Result<String, PaneError> {
        let words = ["capture".into(), id.as_str().into()];
        output_of(&self.program, &words, &self.env).await
    }

    fn focus_command(&self, id: &PaneId) -> Vec<OsString> {
        vec![
            self.program.clone().into(),
            "focus".into(),
            id.as_str().into(),
        ]
    }
}
