//! `swarm inbox`.

mod read;
mod text;

pub(super) use read::{InboxArgs, run};
pub(super) use text::printed;
