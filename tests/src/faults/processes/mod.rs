//! Programs that are killed or stopped at any moment: the remaining state is complete and can be
//! cleaned up.

mod clocks;
mod commands;
mod letters;
mod places;
mod rounds;
mod storms;
mod takeover;

pub use clocks::clocks;
pub use commands::{Cut, Whole, cut_at, points_of};
pub use letters::{Letters, letters};
pub use places::{Place, Teammate};
pub use rounds::{Fault, round};
pub use storms::{delete_under_spawns, one_name, twins};
pub use takeover::{Activity, Termination, takeover};
