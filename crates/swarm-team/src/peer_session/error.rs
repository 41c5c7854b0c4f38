//! Errors of the sending side.

use std::io;
use std::path::Path;

use swarm_protocol::{LONGEST_FRAME, PeerAddress};
use swarm_store::StoreError;

/// A message could not be sent to another session.
#[derive(Debug, thiserror::Error)]
pub enum PeerError {
    /// The address has nothing after its prefix.
    #[error("`{0}` names no session")]
    NoTarget(String),
    /// No running session has this address.
    #[error("no session that can be reached from here has the address {0}")]
    Unknown(String),
    /// The sender uses no hub.
    #[error("a session on another machine is reached through a hub, and no team here is on one")]
    NoHub,
    /// The text is too long.
    #[error(
        "the message has more than {LONGEST_FRAME} characters: write it into a file and send the path"
    )]
    TooLong,
    /// The connection failed.
    #[error("cannot write to {to}: {source}")]
    Connection {
        /// The address.
        to: String,
        /// The cause.
        source: io::Error,
    },
    /// The session did not answer.
    #[error("the session did not answer in time, but may still read the message")]
    Silent,
    /// The hub could not be used.
    #[error(transparent)]
    Hub(#[from] StoreError),
    /// The session did not take the message.
    #[error("{to} did not take the message: {why}")]
    Refused {
        /// The address.
        to: String,
        /// Its reason.
        why: String,
    },
}

impl PeerError {
    /// Converts the errors of a connection to this socket.
    pub(super) fn connection_to(socket: &Path) -> impl Fn(io::Error) -> Self + Copy {
        move |source| Self::Connection {
            to: PeerAddress::Socket(socket).to_string(),
            source,
        }
    }
}
