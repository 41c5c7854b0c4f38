//! Agents that begin with another's conversation.
//!
//! All forks of one answer send the same bytes but for their directive, so that they read from the model server's
//! prompt cache what their parent has put there.

mod definition;
mod directive;
mod head;
mod inherit;
mod point;

pub(crate) use definition::{FORK, fork_definition};
pub(crate) use directive::{directive, is_inside, opens_fork};
pub(crate) use head::Head;
pub(crate) use inherit::inherited;
pub use point::ForkPoint;
pub(crate) use point::{Held, Origin};
