//! Runs the user's hooks: their input, their timeouts, and the combined meaning of their answers.
//!
//! [`Hooks`] runs the hooks of an event; [`AgentHooks`] does so for one agent, whose [`Subject`] every hook is told.
//! Which hooks there are is read by `swarm-permissions`; when an event happens is known by whoever calls.

mod agent;
mod answer;
mod capped;
mod command;
mod control;
mod hooks;
mod http;
mod outcome;
mod prompt;
mod reach;
mod shell;
mod subject;
mod team_events;

pub use agent::AgentHooks;
pub use control::Permission;
pub use hooks::{HookTrouble, Hooks, HooksParts};
pub use outcome::HookOutcome;
pub use reach::{HookReach, HookReply, HookRequest};
pub use subject::Subject;
pub use team_events::{TeamEvents, TeamHook};

#[cfg(test)]
mod reach_tests;
#[cfg(test)]
mod tests;
