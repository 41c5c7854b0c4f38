//! Permission changes sent by the lead.

use std::sync::Arc;

use swarm_agent::Rights;
use swarm_protocol::{ControlFrame, SpawnId};
use swarm_store::blocking::Team;
use swarm_team::{ordered_mode, ordered_rules};

use crate::mail::Handling;
use crate::reporter::Reporter;

/// The permissions that frames of the lead may change, up to the ceiling.
#[derive(Debug)]
pub(crate) struct GrantedRights {
    pub(crate) rights: Arc<Rights>,
    pub(crate) spawn_id: SpawnId,
    pub(crate) reporter: Arc<Reporter>,
}

impl GrantedRights {
    /// Applies a frame and reports it. A frame that no command has recorded in the journal is
    /// ignored; if the journal cannot be read, it is retried at the next read of the inbox.
    pub(crate) fn apply(&self, team: &dyn Team, frame: &ControlFrame) -> Handling {
        let applied = match frame {
            ControlFrame::ModeSetRequest(frame) => {
                ordered_mode(team, self.spawn_id, frame).map(|mode| {
                    let is_set = mode.is_some_and(|mode| self.rights.set_mode(mode));
                    let what = format!("permission mode {}", frame.mode);
                    (is_set, what)
                })
            }
            ControlFrame::TeamPermissionUpdate(frame) => ordered_rules(team, frame).map(|grant| {
                let is_granted = grant.is_some_and(|grant| self.rights.grant(&grant));
                (
                    is_granted,
                    format!("permission rules for {}", frame.tool_name),
                )
            }),
            _ => return Handling::Acknowledge,
        };
        match applied {
            Ok((true, what)) => self.reporter.notice(format!("the lead set {what}")),
            Ok((false, what)) => self.reporter.notice(format!(
                "ignored: {what}, not ordered by a command or above the ceiling"
            )),
            Err(error) => {
                tracing::warn!(%error, "a permission change is not applied yet");
                return Handling::KeepUnread;
            }
        }
        Handling::Acknowledge
    }
}
