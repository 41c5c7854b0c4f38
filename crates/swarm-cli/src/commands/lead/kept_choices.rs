//! Model and mode of a lead's conversation, which `--continue` keeps.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use swarm_agent::transcript_path;
use swarm_member::LeadParts;
use swarm_protocol::{AgentEvent, PermissionMode, SessionId};

use crate::app::App;
use crate::event_tap::tapped;
use crate::spawn_context::Choices;

/// Model and mode of a lead, in `lead.json` next to its transcript.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::commands) struct KeptChoices {
    /// Full name of the model.
    model: Option<String>,
    mode: Option<PermissionMode>,
}

impl KeptChoices {
    /// Reads those of a conversation in `cwd`; empty for a new one.
    pub(in crate::commands) fn read(app: &App, cwd: &Path, session: SessionId) -> Self {
        let path = path(&app.root, cwd, session);
        let bytes = swarm_os::read_optional(&path).ok().flatten();
        let kept = bytes.map(|bytes| serde_json::from_slice(&bytes));
        match kept {
            Some(Ok(kept)) => kept,
            None => Self::default(),
            Some(Err(error)) => {
                app.out.remark(&format!(
                    "{} is damaged ({error}): model and mode of the conversation are not kept",
                    path.display()
                ));
                Self::default()
            }
        }
    }

    /// Completes what the flags leave open. `bypassPermissions` is only kept by a flag, because other
    /// processes of the user can write the file.
    pub(in crate::commands) fn complete(self, app: &App, choices: &mut Choices) {
        if choices.model.is_none() {
            choices.model = self.model;
        }
        if choices.mode.is_some() {
            return;
        }
        match self.mode {
            Some(mode @ PermissionMode::BypassPermissions) => app.out.say(&format!(
                "swarm: the conversation was in mode {mode}; to continue in it, pass `--mode {mode}`"
            )),
            mode => choices.mode = mode,
        }
    }
}

/// Keeps model and mode of a running lead.
#[derive(Debug)]
pub(super) struct ChoicesKeeper {
    path: PathBuf,
    kept: Mutex<KeptChoices>,
}

impl ChoicesKeeper {
    /// Keeps the choices of a lead that begins, and their changes.
    pub(super) fn begin(parts: &mut LeadParts) -> Arc<Self> {
        let (spawn_context, session) = (&parts.spawn_context, parts.session);
        let kept = KeptChoices {
            model: Some(spawn_context.runtime.model.clone()),
            mode: Some(spawn_context.permissions.mode),
        };
        let keeper = Self {
            path: path(&spawn_context.root, &spawn_context.workspace.cwd, session),
            kept: Mutex::new(kept.clone()),
        };
        keeper.write(&kept);
        let keeper = Arc::new(keeper);
        let watching = Arc::clone(&keeper);
        parts.events = tapped(Arc::clone(&parts.events), move |event| {
            if let AgentEvent::ModeChanged { mode } = event {
                watching.change(|kept| kept.mode = Some(*mode));
            }
            true
        });
        keeper
    }

    /// Keeps the model with which the lead ends.
    pub(super) fn end(&self, model: &str) {
        self.change(|kept| kept.model = Some(model.to_owned()));
    }

    fn change(&self, change: impl FnOnce(&mut KeptChoices)) {
        let mut kept = self.kept.lock();
        let before = kept.clone();
        change(&mut kept);
        if *kept != before {
            self.write(&kept);
        }
    }

    fn write(&self, kept: &KeptChoices) {
        let bytes = serde_json::to_vec(kept).unwrap_or_default();
        if let Err(error) = swarm_os::replace_in_private_dir(&self.path, &bytes) {
            tracing::warn!(%error, "model and mode of the conversation not kept");
        }
    }
}

fn path(root: &Path, cwd: &Path, session: SessionId) -> PathBuf {
    let directory = transcript_path(root, cwd, session).with_extension("");
    directory.join("lead.json")
}
