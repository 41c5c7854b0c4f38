//! Messages between the leads of different teams. Each lead listens on its own socket, which a
//! record in the config directory describes, and has a log on the hub of its team, if there is one.
//! Sessions of Claude Code on the same machine take part.

mod bridge;
mod claude;
mod client;
mod error;
mod lines;
mod link;
mod reception;
mod record;
mod server;

pub use client::PeerPlaces;
pub use error::PeerError;
pub use link::PeerLink;
pub use reception::{HubPlace, PeerInbox, PeerListener};
pub use record::peer_records;
pub use server::PeerServer;
