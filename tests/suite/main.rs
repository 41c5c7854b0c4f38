//! One binary for everything that is tested from outside: the rules of the house, and whole teams.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod architecture;
mod hostile;
mod pages;
