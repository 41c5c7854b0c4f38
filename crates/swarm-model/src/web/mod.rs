//! Fetching pages for agents, over the same TLS as models are reached.

mod address;
mod client;

pub use client::{Fetched, WebClient};
