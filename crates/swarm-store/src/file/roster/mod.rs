//! The roster, `config.json`, in Claude Code's format.

mod members;
mod reserve;
mod undo;
