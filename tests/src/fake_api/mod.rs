//! A server on the loopback address that speaks the Messages API: it writes down every request and answers as a test
//! tells it to, whole or in ways that real servers fail.

mod account;
mod ask;
mod http;
mod reply;
mod script;
mod server;
mod stream;

pub use ask::{Ask, agent_of};
pub use reply::{Block, Gate, Reply};
pub use script::{NOTHING_TO_DO, Script, Step};
pub use server::{Brain, FakeApi, Recorded};
