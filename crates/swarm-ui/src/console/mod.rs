//! The terminal of an interactive pane: output scrolls above an input line.

mod alert;
mod dialog;
mod keys;
mod line;
mod screen;
mod status;
mod writer;

pub use alert::Alert;
pub use dialog::{Choice, Dialog};
pub use keys::{read_keys, read_keys_when};
pub use line::{PaneInput, command_in};
pub use screen::{Completer, Console, ConsoleWriter};
pub use status::SessionStatus;
pub use writer::NonBlockingWriter;
