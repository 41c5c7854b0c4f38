//! `swarm demo`: a whole team at work in a throw-away directory, with a scripted model.

mod account;
mod picture;
mod play;
mod server;
mod stage;

pub(super) use play::{DemoArgs, run};
