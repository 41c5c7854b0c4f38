//! Conversations in the terminal of a lead: its own in the pager, and earlier ones to continue.

use std::path::Path;

use swarm_agent::{all_lead_sessions, find_transcript};
use swarm_protocol::SessionId;
use swarm_ui::Pager;

use super::session_picker::{elsewhere, session_picker};
use super::slash::TerminalCommands;
use super::transcript_document::TranscriptDocument;
use crate::links::linker;

impl TerminalCommands {
    /// Shows the whole conversation of the lead in the pager.
    pub(super) fn page_transcript(&self) {
        self.page_conversation("transcript", &self.env.cwd, self.session);
    }

    pub(super) fn page_conversation(&self, title: &str, cwd: &Path, session: SessionId) {
        let path = find_transcript(&self.app.root, cwd, session);
        let Some(console) = &self.console else { return };
        match TranscriptDocument::open(&path, cwd, self.env.home()) {
            Ok(document) => {
                let document = document.linked(linker(&self.env, cwd));
                console.page(Pager::new(title, Box::new(document)).from_end());
            }
            Err(error) => self.show(format!("the {title} cannot be shown: {error}")),
        }
    }

    /// Shows the earlier conversations of leads, to continue one.
    pub(super) fn pick_session(&self) {
        let Some(console) = self.console_for("resume") else {
            return;
        };
        let sessions = all_lead_sessions(&self.app.root);
        console.pick(session_picker(&*self.app.store, &self.env.cwd, &sessions));
    }

    /// Returns a picked conversation, if it can be continued in this directory. Otherwise shows how
    /// to continue it.
    pub(super) fn session_here(&self, id: &str) -> Option<SessionId> {
        let found = all_lead_sessions(&self.app.root)
            .into_iter()
            .find(|found| found.id.to_string() == id)?;
        if found.id == self.session {
            self.show("this is the current conversation".to_owned());
            return None;
        }
        match elsewhere(&found, &self.env.cwd) {
            Some(command) => {
                self.show(command);
                None
            }
            None => Some(found.id),
        }
    }
}
