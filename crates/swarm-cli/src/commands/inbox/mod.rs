//! `swarm inbox`.

mod read;
mod seen;
mod text;

pub(super) use read::{InboxArgs, run};
