//! An operation on a team's files, killed or made to fail at each of its system calls in turn.

mod operation;
mod points;
mod trial;

pub use operation::Operation;
pub use points::{Point, points};
pub use trial::{InjectedFault, Report, Trial};
