//! Shared parts of the remote model clients: connections, attempts, waits, event streams, refusals.
//!
//! Each API implements [`Dialect`]: the request format, the answer format and the meaning of
//! refusals.

mod attempts;
mod body;
mod connection;
mod dialect;
mod endpoint;
mod failure;
mod refusal;
mod replay;
mod retry;
mod stream;

#[cfg(test)]
#[path = "tests/fake_server.rs"]
pub(crate) mod fake_server;

pub(crate) use attempts::Remote;
pub(crate) use body::{Body, BodyWriter};
pub use connection::{Connection, Secret, Throttle};
pub(crate) use dialect::{Assembly, Dialect, Step};
pub(crate) use endpoint::{Address, USER_AGENT, base_address, describe, tls};
pub(crate) use failure::{Cause, Failure, Transient};
pub(crate) use refusal::{Refusal, classify};
pub use replay::{ReplayedApi, replay_answer};
pub use retry::RetryPolicy;
