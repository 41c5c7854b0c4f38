//! The roster, `config.json`, in Claude Code's format.

mod types;

pub use types::{NewMember, Removed};
