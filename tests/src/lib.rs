//! Tests of the architecture rules and of whole teams, and their harness.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::disallowed_methods,
    reason = "a harness reports failures by panicking, prints, and uses plain files and variables"
)]

pub mod architecture;
pub mod bench;
pub mod escapes;
pub mod fake_api;
pub mod faults;
mod guard;
pub mod hostile;
pub mod mcp_server;
pub mod stage;
mod wait;

pub use guard::guarded;
pub use wait::{DEADLINE, wait_for, wait_until};
