//! Forks: sub-agents that begin with their parent's conversation.
//!
//! The requests of all forks of one response differ only in the directive, so that they hit the
//! prompt cache entry of their parent.

mod directive;
mod inherit;
mod point;

pub(crate) use directive::{directive, fork_opening};
pub(crate) use inherit::inherited;
pub use point::ForkPoint;
pub(crate) use point::{FORK, ForkPointGuard, Head, Origin, fork_definition};
