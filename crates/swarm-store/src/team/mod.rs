//! The life of a team's folders.

mod types;

pub use types::NewTeam;
