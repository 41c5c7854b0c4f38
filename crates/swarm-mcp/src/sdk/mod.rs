//! The one place that knows the SDK: a connection that lists and calls tools, whatever it runs over.

mod client;
mod connection;
mod content;
mod handler;
mod http;
mod probe;

pub(crate) use connection::{Answer, Connection, Protocol};
