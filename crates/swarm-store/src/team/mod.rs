//! The life of a team's folders.

mod create;
mod delete;
mod list;
mod sweep;
mod types;

pub use sweep::Leftover;
pub use types::NewTeam;
