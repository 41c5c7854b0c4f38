//! Hook events whose result is not used; their hooks run later.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use swarm_model::ModelError;
use swarm_permissions::{HookEvent, Suggestion};
use tokio_util::sync::CancellationToken;

use super::types::{Noted, TurnStop};
use crate::instructions::Instructions;
use crate::{AgentError, Session};

impl Session {
    fn note(&self, event: HookEvent, matched: Option<&'static str>, fields: Value) {
        if self.parts.hooks.any(event, matched) {
            let mut noted = self.noted.lock();
            noted.push(Noted {
                event,
                matched,
                fields,
            });
        }
    }

    /// Notes the directories that an approval has added.
    pub(super) fn note_directories(&self, grant: &Suggestion) {
        let Suggestion::AddDirectories { directories, .. } = grant else {
            return;
        };
        for directory in directories {
            let source = "permission_update";
            let fields = json!({"directory": directory, "source": source});
            self.note(HookEvent::DirectoryAdded, Some(source), fields);
        }
    }

    /// Returns the directory in which the next command starts, if hooks observe changes of it.
    pub(super) fn watched_directory(&self) -> Option<PathBuf> {
        let hooked = self.parts.hooks.any(HookEvent::CwdChanged, None);
        hooked.then(|| self.starts_in())
    }

    /// Notes a change of the directory in which commands start.
    pub(super) fn note_directory(&self, before: &Path) {
        let now = self.starts_in();
        if now != before {
            let fields = json!({"old_cwd": before, "new_cwd": now});
            self.note(HookEvent::CwdChanged, None, fields);
        }
    }

    /// Runs the hooks of noted events and of newly loaded instruction files.
    pub(crate) async fn fire_noted(&mut self, cancel: &CancellationToken) {
        let loaded = self.instructions.as_mut();
        let loaded = loaded.map(Instructions::take_loaded);
        for file in loaded.into_iter().flatten() {
            let event = HookEvent::InstructionsLoaded;
            self.note(event, Some(file.reason()), file.fields());
        }
        let noted = std::mem::take(self.noted.get_mut());
        for one in noted {
            self.fire(one.event, one.matched, one.fields, cancel).await;
        }
    }

    /// Runs the `StopFailure` hooks of a failed turn.
    pub(super) async fn fire_failure(&self, stop: &TurnStop, cancel: &CancellationToken) {
        let TurnStop::Failed(error) = stop else {
            return;
        };
        if matches!(error, AgentError::NothingToAnswer) {
            return;
        }
        let kind = failure_kind(error);
        let text = error.to_string();
        let fields = json!({"error": kind, "error_details": text, "last_assistant_message": text});
        self.fire(HookEvent::StopFailure, Some(kind), fields, cancel)
            .await;
    }
}

/// Returns the name of an error in Claude Code's `StopFailure`.
fn failure_kind(error: &AgentError) -> &'static str {
    match error {
        AgentError::Model(error) => match error {
            ModelError::NoKey(_) | ModelError::Auth { .. } => "authentication_failed",
            ModelError::Billing(_) => "billing_error",
            ModelError::UnknownModel { .. } => "model_not_found",
            ModelError::InvalidRequest(_) | ModelError::ContextTooLong(_) => "invalid_request",
            ModelError::RateLimited { .. } => "rate_limit",
            ModelError::Overloaded { .. } => "overloaded",
            ModelError::Server { .. }
            | ModelError::Network { .. }
            | ModelError::IdleTimeout { .. }
            | ModelError::BadStream { .. } => "server_error",
            _ => "unknown",
        },
        AgentError::ContextFull | AgentError::NotCompacted(_) => "invalid_request",
        _ => "unknown",
    }
}
