//! The shared disk, with real processes, real locks and real deaths.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a test ends with a panic, and its child processes talk by printing"
)]

mod children;
mod durable;
mod faults;
mod files;
mod foreign;
mod life;
mod lock_door;
mod recorder;
