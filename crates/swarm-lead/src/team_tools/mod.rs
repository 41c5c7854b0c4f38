//! The lead's own tools: `TeamCreate`, `TeamDelete`, and spawning behind the Agent tool.

mod create;
mod delete;
mod spawner;

pub(crate) use create::TeamCreate;
pub(crate) use delete::TeamDelete;
pub(crate) use spawner::LeadSpawner;
