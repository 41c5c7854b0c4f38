//! `swarm send uds:PATH`: a message to another session on this machine.

use std::path::Path;

use serde_json::json;
use swarm_protocol::{
    ErrorKind, MessageId, PERSON_SENDER, PeerDelivery, PeerMessage, PeerMode, SESSION_ADDRESS,
};
use swarm_team::{PeerError, send_to_session};

use crate::app::App;
use crate::commands::acting::require_person;
use crate::commands::peers::peer_directory;
use crate::commands::runtime;
use crate::failure::Failure;

/// Writes to the session with this socket in the person's name.
pub(super) fn send(app: &App, socket: &Path, text: String) -> Result<(), Failure> {
    require_person(app, "send uds:")?;
    let message = PeerMessage {
        msg_id: MessageId::random(),
        from: PERSON_SENDER.to_owned(),
        from_mode: PeerMode::Prompting,
        text,
    };
    let (directory, msg_id) = (peer_directory(&app.root), message.msg_id.clone());
    let sent = send_to_session(&directory, socket, message);
    let reached = runtime()?.block_on(sent).map_err(|error| failure(&error))?;
    let to = format!("{SESSION_ADDRESS}{}", socket.display());
    let document = json!({"to": to, "msg_id": msg_id, "status": reached});
    app.out.result(&document, sentence(reached))
}

fn sentence(reached: PeerDelivery) -> &'static str {
    match reached {
        PeerDelivery::Delivered => "delivered",
        PeerDelivery::Held => {
            "held: the session shows it, and its model reads it with the next prompt typed there"
        }
        PeerDelivery::Queued | PeerDelivery::Expired => {
            "queued: the session is working; the message is lost if the session ends before it reads it"
        }
    }
}

fn failure(error: &PeerError) -> Failure {
    let kind = match error {
        PeerError::NoPath | PeerError::TooLong => ErrorKind::Usage,
        PeerError::Unknown(_) => ErrorKind::NotFound,
        PeerError::Refused { .. } => ErrorKind::Refused,
        PeerError::Connection { .. } => ErrorKind::Environment,
    };
    let failure = Failure::new(kind, error.to_string());
    match kind {
        ErrorKind::Refused | ErrorKind::Environment => failure,
        _ => failure.with_hint("run `swarm peers` to see the sessions"),
    }
}
