//! Panes on the recording fake, without a terminal, and on real tmux. Every tmux server here has a private socket in
//! a directory of its test and is ended with it.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a test ends with a panic, and plays the person who writes files and has programs installed"
)]

mod border;
mod calls;
mod contract;
mod external;
mod headless;
mod in_process;
mod injection;
mod inside;
mod launch;
mod own_server;
mod people;
mod programs;
mod refit;
mod restored;
mod rig;
mod terminals;
mod zellij;
