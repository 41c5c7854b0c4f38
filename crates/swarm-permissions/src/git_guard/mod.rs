//! Git commands that members must not run because they affect the work of others in the same
//! repository.

mod facts;
mod line;
mod losses;
mod options;
mod refusal;

pub use facts::{GitFacts, GitPlace};
pub use line::GitLine;
pub use refusal::{git_command, git_refusal};

#[cfg(test)]
mod tests;
