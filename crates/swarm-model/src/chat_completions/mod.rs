//! Client of the chat completions API (`POST …/chat/completions`, streamed), which OpenAI, Ollama,
//! vLLM, llama.cpp's server, LM Studio and many gateways implement, each with its own deviations.
//!
//! Wire format: <https://platform.openai.com/docs/api-reference/chat/create>. Code that handles a
//! deviation names the servers.

pub(crate) mod answer;
mod body;
mod calls;
mod capabilities;
mod client;
mod deferred;
mod images;
mod piece;

#[cfg(test)]
mod client_tests;

pub use client::ChatCompletionsConfig;
pub(crate) use client::OpenAiCompatible;
