//! Forks: sub-agents that begin with their parent's conversation.
//!
//! The requests of all forks of one response differ only in the directive, so that they hit the
//! prompt cache entry of their parent.

mod definition;
mod directive;
mod head;
mod inherit;
mod point;

pub(crate) use definition::{FORK, fork_definition};
pub(crate) use directive::{directive, fork_opening};
pub(crate) use head::Head;
pub(crate) use inherit::inherited;
pub use point::ForkPoint;
pub(crate) use point::{ForkPointGuard, Origin};
