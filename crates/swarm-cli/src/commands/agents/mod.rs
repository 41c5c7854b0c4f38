//! `swarm agents …`.

mod dispatch;
mod effective;
mod known;
mod list;
mod show;

pub(super) use dispatch::{AgentsCommand, run};
pub(super) use known::{known, known_again};
