//! Creating, listing and deleting teams.

mod adopt;
mod create;
mod damage;
mod delete;
mod list;
mod sweep;
mod types;

pub use damage::TeamDamage;
pub use sweep::Leftover;
pub use types::NewTeam;
