//! Attempts to get out of the sandbox of shell commands, and the table in the guide that says which
//! of them each backend stops.

mod attempts;
mod place;
mod rebinding;
mod run;
mod table;

pub use run::{EscapeReport, try_escapes, working_backends};
pub use table::{disagreements, stated_rows};
