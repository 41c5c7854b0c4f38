//! A NATS server for one test, and links to it that are slow, cut, or lose an answer.

#![expect(clippy::panic, reason = "used by tests only: a panic fails the test")]

mod disk;
mod link;
mod server;
mod traffic;

pub use disk::SmallDisk;
pub use link::Link;
pub use server::{NatsServer, has_server, wait_for};
pub use traffic::Traffic;
