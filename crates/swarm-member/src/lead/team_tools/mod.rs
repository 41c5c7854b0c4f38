//! The lead's own tools: `TeamCreate`, `TeamDelete`, and spawning behind the Agent tool.

mod create;
mod remote;
mod spawner;

pub(super) use create::{TeamCreate, TeamDelete};
pub(super) use spawner::LeadTeammates;
