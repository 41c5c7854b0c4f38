//! Parsing of shell commands for permission decisions.

mod candidates;
mod lexer;
mod quoting;
mod reach;
mod read_only;
mod read_only_git;
mod script;
mod wrappers;

pub(crate) use candidates::{CommandAnalysis, allow_forms, base_name};
pub(crate) use lexer::read;
pub(crate) use reach::{Reach, spelled};
pub use read_only::bash_is_read_only;
pub(crate) use read_only::{moves_and_runs_git, names_files_vaguely, part_is_read_only, runs_git};
pub use read_only_git::{QuietGit, git_without_programs};
pub(crate) use script::{Part, Word};
