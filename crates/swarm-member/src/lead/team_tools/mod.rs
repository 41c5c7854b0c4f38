//! The lead's own tools: `TeamCreate`, `TeamDelete`, and spawning behind the Agent tool.

mod create;
mod delete;
mod remote;
mod spawner;

pub(super) use create::TeamCreate;
pub(super) use delete::TeamDelete;
pub(super) use spawner::LeadTeammates;
