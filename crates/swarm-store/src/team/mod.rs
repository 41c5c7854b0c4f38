//! The life of a team's folders.

mod create;
mod delete;
mod list;
mod types;

pub use types::NewTeam;
