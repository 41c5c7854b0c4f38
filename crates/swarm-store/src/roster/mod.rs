//! The roster, `config.json`, in Claude Code's format.

mod file_roster;
mod reserve;
mod types;
mod undo;

pub use types::{NewMember, RemovedMember};
