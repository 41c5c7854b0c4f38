//! Text output for a shell: tables, numbers and wrapped lines.

mod number;
mod table;
mod wrap;

pub use number::{counted, short_count, short_duration};
pub use table::{Align, Cell, Table};
pub(crate) use wrap::filled;
pub use wrap::wrapped;
