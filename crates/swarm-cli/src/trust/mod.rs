//! Which repositories the user trusts to run what is their own: hooks, MCP servers, definitions and backends.

mod ask;
mod file;
mod repository;

pub(crate) use ask::is_trusted;
pub(crate) use file::TrustFile;
pub(crate) use repository::{project_folder, project_top, top_of};

#[cfg(test)]
mod tests;
