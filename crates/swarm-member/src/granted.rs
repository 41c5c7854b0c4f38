//! Permission changes sent by the lead.

use std::sync::Arc;

use parking_lot::Mutex;
use swarm_agent::Rights;
use swarm_protocol::{ControlFrame, GrantSignature, SpawnId};
use swarm_store::{StoreError, Team, VerifyKey};
use swarm_team::{OrderedMode, OrderedRules, TEAM_RULE, ordered_mode, ordered_rules};

use crate::mail::Handling;
use crate::reporter::Reporter;

/// The permissions that frames of the lead may change, up to the ceiling.
#[derive(Debug)]
pub(crate) struct GrantedRights {
    pub(crate) rights: Arc<Rights>,
    spawn_id: SpawnId,
    pub(crate) reporter: Arc<Reporter>,
    /// The signature of the last mode that was set. An older one is a replay.
    last_mode: Mutex<Option<GrantSignature>>,
}

impl GrantedRights {
    pub(crate) fn new(rights: Arc<Rights>, spawn_id: SpawnId, reporter: Arc<Reporter>) -> Self {
        Self {
            rights,
            spawn_id,
            reporter,
            last_mode: Mutex::default(),
        }
    }

    /// Applies a frame and reports it. A frame that no command has recorded in the journal, or
    /// whose record is not signed with the private half of `key`, is ignored; if the journal or the
    /// key cannot be read, it is retried at the next read of the inbox.
    pub(crate) async fn apply(
        &self,
        team: &dyn Team,
        frame: &ControlFrame,
        key: Result<Option<VerifyKey>, StoreError>,
    ) -> Handling {
        let applied = match key {
            Ok(key) => self.applied(team, frame, key.as_ref()).await,
            Err(error) => Err(error),
        };
        match applied {
            Ok(None) => {}
            // The person who set it may be at this terminal.
            Ok(Some((true, what))) => self.reporter.notice(format!("set: {what}")),
            Ok(Some((false, what))) => self.reporter.notice(format!(
                "ignored: {what}, not ordered by a command or above the ceiling"
            )),
            Err(error) => {
                tracing::warn!(%error, "a permission change is not applied yet");
                return Handling::KeepUnread;
            }
        }
        Handling::Acknowledge
    }

    /// Returns whether the frame was applied, with its content in words; `None` for other frames.
    async fn applied(
        &self,
        team: &dyn Team,
        frame: &ControlFrame,
        key: Option<&VerifyKey>,
    ) -> Result<Option<(bool, String)>, StoreError> {
        Ok(match frame {
            ControlFrame::ModeSetRequest(frame) => {
                let ordered = ordered_mode(team, self.spawn_id, frame, key).await?;
                let is_set = ordered.is_some_and(|ordered| self.set_mode(ordered));
                Some((is_set, format!("permission mode {}", frame.mode)))
            }
            ControlFrame::TeamPermissionUpdate(frame) => {
                let ordered = ordered_rules(team, frame, key).await?;
                match &ordered {
                    Some(OrderedRules::Granted(rules)) => self.rights.allow(rules, TEAM_RULE),
                    Some(OrderedRules::Revoked(rules)) => self.rights.revoke(rules, TEAM_RULE),
                    None => {}
                }
                let what = format!("the team's permission rules for {}", frame.tool_name);
                Some((ordered.is_some(), what))
            }
            _ => None,
        })
    }

    /// Sets a mode, unless its order was signed before the last one or is that one again.
    fn set_mode(&self, ordered: OrderedMode) -> bool {
        let mut last = self.last_mode.lock();
        let is_replay = match (&*last, &ordered.signature) {
            (Some(last), Some(new)) => new.at < last.at || new.id == last.id,
            _ => false,
        };
        if is_replay || !self.rights.set_mode(ordered.mode) {
            return false;
        }
        *last = ordered.signature;
        true
    }
}
