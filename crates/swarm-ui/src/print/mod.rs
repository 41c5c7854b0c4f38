//! Text for a person at a shell: tables and numbers.

mod number;
mod table;

pub use number::{counted, short_count, short_duration};
pub use table::{Align, Cell, Table};
