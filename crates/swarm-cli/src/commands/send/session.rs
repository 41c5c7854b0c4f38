//! `swarm send uds:PATH` and `bridge:ID`: a message to another session.

use serde_json::json;
use swarm_protocol::{
    ErrorKind, MessageId, PERSON_SENDER, PeerAddress, PeerDelivery, PeerMessage, PeerMode,
};
use swarm_team::PeerError;

use crate::app::App;
use crate::commands::acting::require_person;
use crate::commands::peers::peer_places;
use crate::commands::runtime;
use crate::failure::{Failure, Result};
use crate::own_process::host_name;

/// Writes to the session with this address in the person's name.
pub(super) fn send(app: &App, to: PeerAddress<'_>, text: String) -> Result<()> {
    let from = match to {
        PeerAddress::Socket(_) => PERSON_SENDER.to_owned(),
        PeerAddress::Bridge(_) => format!("{PERSON_SENDER}@{}", host_name()),
    };
    require_person(app, &format!("send {to}"))?;
    let message = PeerMessage {
        msg_id: MessageId::random(),
        from,
        from_mode: PeerMode::Prompting,
        text,
    };
    let (places, msg_id) = (peer_places(app)?, message.msg_id.clone());
    let sent = runtime()?.block_on(places.send(to, message));
    let reached = sent.map_err(failure)?;
    let document = json!({"to": to.to_string(), "msg_id": msg_id, "status": reached});
    app.out.result(&document, sentence(reached))
}

fn sentence(reached: PeerDelivery) -> &'static str {
    match reached {
        PeerDelivery::Delivered => "delivered",
        PeerDelivery::Held => {
            "held: the session shows it; its model reads it with the next prompt typed there, or once its user allows it"
        }
        PeerDelivery::Queued | PeerDelivery::Expired => {
            "queued: the session has not read it yet; it is lost if the session ends before"
        }
    }
}

fn failure(error: PeerError) -> Failure {
    let kind = match error {
        PeerError::Hub(error) => return error.into(),
        PeerError::NoTarget(_) | PeerError::NoHub | PeerError::TooLong => ErrorKind::Usage,
        PeerError::Unknown(_) => ErrorKind::NotFound,
        PeerError::Silent => ErrorKind::TimedOut,
        PeerError::Refused { .. } => ErrorKind::Refused,
        PeerError::Connection { .. } => ErrorKind::Environment,
    };
    let failure = Failure::new(kind, error.to_string());
    match kind {
        ErrorKind::Refused | ErrorKind::Environment => failure,
        _ => failure.with_hint("run `swarm peers` to see the sessions"),
    }
}
