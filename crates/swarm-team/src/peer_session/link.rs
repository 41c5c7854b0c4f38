//! How a lead's tools reach other sessions.

use std::fmt;
use std::path::{Path, PathBuf};

use swarm_protocol::{MessageId, PeerDelivery, PeerMessage, PeerMode, PeerRecord, SessionId};

use super::{PeerError, peer_records, send_to_session};

/// The other sessions, as one lead sees them.
pub struct PeerLink {
    /// Directory of the records.
    pub directory: PathBuf,
    /// The lead's session.
    pub session: SessionId,
    /// The lead's address.
    pub address: String,
    /// Returns the lead's mode.
    pub mode: Box<dyn Fn() -> PeerMode + Send + Sync>,
}

impl fmt::Debug for PeerLink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PeerLink")
            .field("address", &self.address)
            .finish_non_exhaustive()
    }
}

impl PeerLink {
    /// Returns the other sessions, oldest first.
    pub fn others(&self) -> Vec<PeerRecord> {
        let mut records = peer_records(&self.directory);
        records.retain(|record| record.session != self.session);
        records
    }

    /// Sends a text in the lead's name. Returns the message's id and how far it has come.
    ///
    /// # Errors
    /// [`PeerError`].
    pub async fn send(
        &self,
        socket: &Path,
        text: &str,
    ) -> Result<(MessageId, PeerDelivery), PeerError> {
        let msg_id = MessageId::random();
        let message = PeerMessage {
            msg_id: msg_id.clone(),
            from: self.address.clone(),
            from_mode: (self.mode)(),
            text: text.to_owned(),
        };
        let reached = send_to_session(&self.directory, socket, message).await?;
        Ok((msg_id, reached))
    }
}
