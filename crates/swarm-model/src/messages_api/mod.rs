//! Client of the Anthropic Messages API (`POST /v1/messages`, streamed).
//!
//! Wire format: <https://docs.claude.com/en/api/messages-streaming> and
//! <https://docs.claude.com/en/api/errors>.

mod answer;
mod body;
mod client;
mod config;
mod event;
mod failure;
mod http;
mod retry;
mod secret;
mod status;
mod stream;

#[cfg(test)]
mod client_tests;
#[cfg(test)]
mod fake_server;

pub use client::MessagesApi;
pub use config::MessagesApiConfig;
pub use retry::RetryPolicy;
pub use secret::Secret;
