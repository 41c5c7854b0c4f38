//! The roster, `config.json`, in Claude Code's format.

mod commit;
mod config;
mod remove;
mod reserve;
mod types;
mod undo;

pub use types::{NewMember, RemovedMember};
