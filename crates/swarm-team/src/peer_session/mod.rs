//! Messages between the leads of different teams on one machine. Each lead listens on a socket of
//! its own; a record in the config directory tells others its path and token.

mod client;
mod link;
mod record;
mod server;

pub use client::{PeerError, send_to_session};
pub use link::PeerLink;
pub use record::peer_records;
pub use server::{PeerInbox, PeerListener, PeerServer};
