//! Kernel sandbox for shell commands.
//!
//! A process can only restrict itself, permanently, and only it can start its own session. So a
//! command is started through a helper, normally the swarm program, which does both and then runs
//! the command. How it restricts itself depends on what works on the machine ([`probe_sandbox`]). With
//! namespaces, one helper starts the shell commands of an agent, which inherit its restrictions.

mod arguments;
mod backend;
mod entry;
mod error;
mod fixed;
mod fixed_entry;
mod fixed_git;
mod helper_process;
mod host;
mod init;
mod landlock;
mod launcher;
mod message;
mod plan;
mod proxy;
mod request;
mod runtime;
// Not used yet: no macOS machine has tried it.
#[cfg(test)]
mod seatbelt;
mod serve;
mod system_calls;
mod user_program;
mod words;

pub use backend::{SandboxProbe, probe_sandbox};
pub use entry::run_helper;
pub use error::SandboxError;
pub use fixed::left_placeholders;
pub(crate) use host::HostSlot;
pub use landlock::landlock_works;
pub(crate) use launcher::{LaunchedCommand, Launcher};
pub(crate) use plan::{Plan, plan};
pub use proxy::HostResolver;
pub(crate) use proxy::{DeniedHost, HostDenial};
pub(crate) use user_program::{ProgramPlace, place};
pub use user_program::{UserCommand, UserProgram};
