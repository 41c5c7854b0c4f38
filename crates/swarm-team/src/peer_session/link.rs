//! How a lead's tools reach other sessions.

use swarm_protocol::{
    MessageId, PeerAddress, PeerDelivery, PeerMessage, PeerMode, PeerSession, SessionId,
    partial_debug,
};

use super::{PeerError, PeerPlaces};

/// The other sessions, as one lead sees them.
pub struct PeerLink {
    /// Where it finds them: on this machine, and on the hub of its team.
    pub places: PeerPlaces,
    /// The lead's session.
    pub session: SessionId,
    /// The lead's address for sessions on this machine.
    pub address: String,
    /// Returns the lead's mode.
    pub mode: Box<dyn Fn() -> PeerMode + Send + Sync>,
}

partial_debug!(PeerLink: address);

impl PeerLink {
    /// Returns the other sessions.
    pub async fn others(&self) -> Vec<PeerSession> {
        let (mut sessions, errors) = self.places.sessions().await;
        for error in errors {
            tracing::warn!(%error, "sessions on the hub not listed");
        }
        sessions.retain(|one| one.session != self.session);
        sessions
    }

    /// Sends a text in the lead's name. Returns the message's id and how far it has come.
    ///
    /// # Errors
    /// [`PeerError`].
    pub async fn send(
        &self,
        to: PeerAddress<'_>,
        text: &str,
    ) -> Result<(MessageId, PeerDelivery), PeerError> {
        let msg_id = MessageId::random();
        let from = match to {
            PeerAddress::Socket(_) => self.address.clone(),
            PeerAddress::Bridge(_) => PeerAddress::Bridge(&self.session.short()).to_string(),
        };
        let message = PeerMessage {
            msg_id: msg_id.clone(),
            from,
            from_mode: (self.mode)(),
            text: text.to_owned(),
        };
        let reached = self.places.send(to, message).await?;
        Ok((msg_id, reached))
    }
}
