//! The terminal of a pane in which a person may type: output scrolls above one input line.

mod dialog;
mod keys;
mod line;
mod outlet;
mod screen;

pub use dialog::{Choice, Dialog};
pub use keys::{read_keys, read_keys_when};
pub use line::{PaneInput, command_in};
pub use outlet::Outlet;
pub use screen::{Console, ConsoleWriter};
