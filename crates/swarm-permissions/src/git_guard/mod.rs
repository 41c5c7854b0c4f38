//! Git commands that members must not run because they affect the work of others in the same
//! repository.

mod calls;
mod losses;
mod options;
mod refusal;

pub use calls::git_calls;
pub use losses::{GitFacts, GitPlace};
pub use refusal::{GitLine, git_command, git_refusal};

#[cfg(test)]
mod tests;
