//! iTerm2 as a [`PaneDriver`].

use std::ffi::OsString;
use std::path::PathBuf;

use async_trait::async_trait;
use swarm_protocol::{BackendType, PaneId};

use super::driver::{NewPane, PaneDriver, output_of};
use super::runner::quoted;
use crate::PaneError;

/// Text before the id in the output of `it2 session split`.
const CREATED: &str = "Created new pane: ";

/// The `it2` program, version 0.2.3 of <https://github.com/mkusaka/it2>, which Claude Code uses as
/// well: the first pane is right of the lead's, further ones are below the newest.
#[derive(Debug, Clone)]
pub struct It2 {
    /// Absolute path of the program.
    pub program: PathBuf,
    /// Session of the lead; `None` uses the active one.
    pub lead: Option<PaneId>,
    /// Environment of the program.
    pub env: Vec<(String, String)>,
}

impl It2 {
    async fn session(&self, words: &[&str]) -> Result<String, PaneError> {
        let words = [&["session"], words].concat();
        let words: Vec<OsString> = words.iter().map(OsString::from).collect();
        output_of(&self.program, &words, &self.env).await
    }

    /// Splits a session, or the active one.
    async fn split(&self, vertical: bool, target: Option<&PaneId>) -> Result<PaneId, PaneError> {
        let mut words = vec!["split"];
        words.extend(vertical.then_some("-v"));
        words.extend(target.into_iter().flat_map(|id| ["-s", id.as_str()]));
        let said = self.session(&words).await?;
        let id = said
            .lines()
            .find_map(|line| line.trim().strip_prefix(CREATED));
        id.map(PaneId::new).ok_or_else(|| PaneError::Unreadable {
            what: "the id of the new pane",
            line: said.trim().to_owned(),
        })
    }
}

#[async_trait]
impl PaneDriver for It2 {
    fn backend(&self) -> BackendType {
        BackendType::ITerm2
    }

    fn has_unique_ids(&self) -> bool {
        true
    }

    /// The pane starts with the user's shell, which is replaced by the command.
    async fn open(&self, pane: NewPane<'_>) -> Result<PaneId, PaneError> {
        let id = match pane.newest {
            // The user may have closed the newest pane meanwhile.
            Some(newest) => match self.split(false, Some(newest)).await {
                Ok(id) => id,
                Err(_closed) => self.split(true, self.lead.as_ref()).await?,
            },
            None => self.split(true, self.lead.as_ref()).await?,
        };
        let words = pane
            .command
            .map(|word| quoted(&word).to_string_lossy().into_owned());
        let line = format!(" exec {}", words.join(" "));
        if let Err(error) = self.session(&["run", "-s", id.as_str(), &line]).await {
            if let Err(left) = self.close(&id).await {
                tracing::warn!(pane = %id, error = %left, "empty pane not closed");
            }
            return Err(error);
        }
        if let Err(error) = self
            .session(&["set-name", "-s", id.as_str(), &pane.spec.title])
            .await
        {
            tracing::debug!(pane = %id, %error, "pane without a title");
        }
        Ok(id)
    }

    async fn close(&self, id: &PaneId) -> Result<(), PaneError> {
        self.session(&["close", "-f", "-s", id.as_str()])
            .await
            .map(drop)
    }

    async fn capture(&self, id: &PaneId, lines: Option<usize>) -> Result<String, PaneError> {
        match lines.map(|lines| lines.to_string()) {
            Some(lines) => {
                self.session(&["read", "-s", id.as_str(), "-n", &lines])
                    .await
            }
            None => self.session(&["read", "-s", id.as_str()]).await,
        }
    }

    fn focus_command(&self, id: &PaneId) -> Vec<OsString> {
        let mut words = vec![self.program.clone().into_os_string()];
        words.extend(["session", "focus", id.as_str()].map(OsString::from));
        words
    }
}
