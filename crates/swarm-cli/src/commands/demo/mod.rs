//! `swarm demo`: runs a team with a scripted model in a temporary directory.

mod account;
mod audience;
mod hub;
mod machine;
mod person;
mod picture;
mod play;
mod server;
mod shell;
mod stage;

pub(super) use play::{DemoArgs, run};
