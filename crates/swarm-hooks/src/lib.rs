//! Runs the user's hooks: their input, their timeouts and their merged results.
//!
//! [`Hooks`] runs the hooks of an event; [`AgentHooks`] does so for one agent, described by a
//! [`HookInput`]. `swarm-permissions` parses the hook settings; the caller decides when an event
//! fires.

mod agent;
mod answer;
mod command;
mod hooks;
mod outcome;
mod reach;
mod team_events;

pub use agent::AgentHooks;
pub use answer::Permission;
pub use hooks::{HookInput, HookNotice, Hooks, HooksParts};
pub use outcome::HookOutcome;
pub use reach::{HookRequest, HookServices};
pub use team_events::{TeamEvents, TeamHook};

#[cfg(test)]
mod reach_tests;
#[cfg(test)]
mod tests;
