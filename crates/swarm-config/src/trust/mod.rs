//! The repositories that the user trusts to run their own hooks, MCP servers, definitions and
//! backends.

mod file;
mod own;
mod project;
mod repository;

pub use file::{TrustFile, Trusted};
pub use own::{RepositoryItem, RepositoryItems, repository_items};
pub use project::Project;
pub use repository::{is_trusted, project_directory, project_top, top_of};

#[cfg(test)]
mod tests;
