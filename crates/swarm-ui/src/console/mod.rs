//! The terminal of a pane in which a person may type: output scrolls above one input line.

mod keys;
mod line;
mod outlet;
mod screen;

pub use keys::{read_keys, read_keys_when};
pub use line::PaneInput;
pub use outlet::Outlet;
pub use screen::{Console, ConsoleWriter};
