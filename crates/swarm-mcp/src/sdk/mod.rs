//! The one place that knows the SDK: a connection that lists and calls tools, whatever it runs over.

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

pub(crate) use calls::CallTerms;
pub(crate) use connection::{Answer, Connection, Protocol};
