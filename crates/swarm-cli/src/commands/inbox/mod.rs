//! `swarm inbox`.

mod read;
mod text;

pub(super) use read::run;
