//! Which repositories the user trusts to run what is their own: hooks, MCP servers, definitions and backends.

mod file;
mod own;
mod repository;

pub use file::{TrustFile, Trusted};
pub use own::{Own, OwnThings, own_things};
pub use repository::{is_trusted, project_directory, project_top, top_of};

#[cfg(test)]
mod tests;
