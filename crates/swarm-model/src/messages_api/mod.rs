//! Client of the Anthropic Messages API (`POST /v1/messages`, streamed).
//!
//! Wire format: <https://docs.claude.com/en/api/messages-streaming> and
//! <https://docs.claude.com/en/api/errors>.

pub(crate) mod answer;
mod body;
mod client;
mod event;
mod head;
mod marks;
mod thinking;

#[cfg(test)]
mod client_tests;
#[cfg(test)]
#[path = "tests/played.rs"]
pub(crate) mod played;
#[cfg(test)]
mod throttle_tests;

pub(crate) use client::MessagesApi;
pub use client::MessagesApiConfig;
