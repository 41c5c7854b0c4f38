//! The terminal of an interactive pane: output scrolls above an input line.

mod alert;
mod cover;
mod delayed_output;
mod dialog;
mod document;
mod editor_mode;
#[cfg(test)]
#[path = "tests/emulator.rs"]
mod emulator;
mod escape;
mod form;
mod form_keys;
mod frames;
mod full_screen;
mod graphemes;
mod input;
mod keys;
mod line;
mod line_history;
mod open_dialog;
mod pager;
mod pager_rows;
mod panel;
mod picker;
mod queue;
mod read_keys;
mod reason;
#[cfg(test)]
#[path = "tests/recorded_screen.rs"]
mod recorded_screen;
mod region;
mod screen;
mod search;
mod status;
mod styled;
mod team_panel;
mod title;
mod turn_calls;
mod vim;
mod writer;

pub(crate) use alert::BELL;
pub use alert::{Alert, DesktopAlert};
pub use delayed_output::ConsoleWriter;
pub use dialog::{Choice, Dialog, FormAnswer, FormQuestion};
pub use document::{Document, TextDocument};
pub use editor_mode::EditorMode;
pub use input::{PaneInput, PanelAction, command_in};
pub use pager::Pager;
pub use picker::{Picker, PickerItem};
pub use read_keys::{read_keys, read_keys_when};
pub use screen::{Attacher, Completer, Console};
pub use status::{SessionChange, SessionStatus};
pub use team_panel::{PanelContent, PanelMember, PanelTask};
pub use writer::NonBlockingWriter;
