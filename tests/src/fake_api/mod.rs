//! A server on the loopback address with the Messages API and the chat completions API: it records
//! every request and sends the answers of a test, including realistic faults. Scripts use the
//! Messages API and serve both.

mod ask;
mod chat_request;
mod chat_stream;
mod dialect;
mod http;
mod prompt_cache;
mod reply;
mod script;
mod server;
mod stream;

pub use ask::{Ask, agent_of};
pub use prompt_cache::PromptTokens;
pub use reply::{Block, Gate, Reply};
pub use script::{NOTHING_TO_DO, Script, Step};
pub use server::{Brain, FakeApi, Recorded};
