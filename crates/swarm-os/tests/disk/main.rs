//! Locks and files, with real processes that are killed and stopped.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "tests panic on failure, and their child processes communicate on stdout"
)]

mod children;
mod disk_steps;
mod durable;
mod faults;
mod files;
mod foreign;
mod life;
mod lock_timeouts;
mod locks;
mod recorder;
