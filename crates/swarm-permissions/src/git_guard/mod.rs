//! Git commands that members must not run because they affect the work of others in the same
//! repository.

mod line;
mod losses;
mod options;
mod refusal;

pub use line::GitLine;
pub use refusal::{GitFacts, GitPlace, git_command, git_refusal};

#[cfg(test)]
mod tests;
