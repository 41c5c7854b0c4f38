//! Whole programs that are killed, frozen or cut short at any moment: what is left is whole, and can be cleared away.

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
pub use takeover::{Blow, Duty, takeover};
