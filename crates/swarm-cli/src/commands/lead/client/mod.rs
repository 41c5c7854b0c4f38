//! A lead whose console is a client of the Agent Client Protocol, such as an editor.

mod console;
mod link;
mod prompt;
mod prompts;
mod session;
mod sink;
mod updates;

pub(in crate::commands) use link::{ClientLink, RpcError};
pub(in crate::commands) use session::{ClientSession, ClientSessions};

pub(super) use console::attach;
