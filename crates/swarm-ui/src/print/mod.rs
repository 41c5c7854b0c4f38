//! Text for a person at a shell: tables, numbers and lines that fit.

mod number;
mod table;
mod wrap;

pub use number::{counted, short_count, short_duration};
pub use table::{Align, Cell, Table};
pub use wrap::wrapped;
