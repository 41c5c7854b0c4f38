//! Which git commands a member is refused: those that reach into the work of others who share the repository.

mod line;
mod losses;
mod options;
mod refusal;

pub use line::GitLine;
pub use refusal::{GitFacts, GitPlace, git_command, git_refusal};

#[cfg(test)]
mod tests;
