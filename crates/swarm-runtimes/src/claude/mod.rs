//! Claude Code over standard streams: `claude -p` with `stream-json` in both directions, as its
//! SDKs use it.

mod exchange;
mod runtime;

pub use runtime::ClaudeRuntime;
