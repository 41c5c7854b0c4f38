//! HTTP client for web pages, with the TLS configuration of the model clients.

mod client;

pub use client::{Fetched, WebClient};
