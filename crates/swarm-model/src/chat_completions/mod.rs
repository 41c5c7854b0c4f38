//! Client of the chat completions API (`POST …/chat/completions`, streamed), which OpenAI, Ollama, vLLM, llama.cpp's
//! server, LM Studio and many gateways speak, each with its own accent.
//!
//! Wire format: <https://platform.openai.com/docs/api-reference/chat/create>. Where servers differ from it, the code
//! that bears with it says which ones.

pub(crate) mod answer;
mod body;
mod calls;
mod client;
mod config;
mod habits;
mod images;
mod piece;

#[cfg(test)]
mod client_tests;

pub use client::ChatCompletions;
pub use config::ChatCompletionsConfig;
