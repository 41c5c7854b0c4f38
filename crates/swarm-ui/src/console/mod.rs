//! The terminal of a pane in which a person may type: output scrolls above one input line.

mod alert;
mod dialog;
mod keys;
mod line;
mod outlet;
mod screen;
mod status;

pub use alert::Alert;
pub use dialog::{Choice, Dialog};
pub use keys::{read_keys, read_keys_when};
pub use line::{PaneInput, command_in};
pub use outlet::Outlet;
pub use screen::{Completer, Console, ConsoleWriter};
pub use status::SessionStatus;
