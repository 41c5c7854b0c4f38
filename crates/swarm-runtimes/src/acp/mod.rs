//! The Agent Client Protocol, version 1: JSON-RPC 2.0 in lines over standard streams
//! (<https://agentclientprotocol.com>).

mod calls;
mod connection;
mod files;
mod mcp_calls;
mod permission;
mod prompt;
mod requests;
mod runtime;
mod terminals;
mod updates;

pub use runtime::AcpRuntime;
