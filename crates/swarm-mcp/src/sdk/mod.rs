//! The only module that uses the SDK: a connection that lists and calls tools over any transport.

mod calls;
mod client;
mod connection;
mod content;
mod elicit;
mod handler;
mod http;
mod probe;
mod prompts;
mod request;
mod resources;
mod served;

pub(crate) use calls::CallOptions;
pub(crate) use connection::{Answer, Connection, HandshakeError, Protocol};
pub use served::{ServedTools, ToolService, serve_tools};
