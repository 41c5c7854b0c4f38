//! Members in panes of a terminal that swarm controls through another program: iTerm2's `it2`, or a
//! program of the user.

mod backend;
mod driver;
mod iterm2;
mod kind;
mod program;
mod runner;

pub use backend::ExternalBackend;
pub use driver::{NewPane, PaneDriver};
pub use iterm2::It2;
pub(crate) use kind::{Command, ITerm2};
pub use program::PaneProgram;
