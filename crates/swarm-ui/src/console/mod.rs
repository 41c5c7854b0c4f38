//! The terminal of an interactive pane: output scrolls above an input line.

mod alert;
mod cover;
mod dialog;
mod document;
mod editor_mode;
mod full_screen;
mod keys;
mod line;
mod line_history;
mod pager;
mod pager_rows;
mod panel;
mod panel_action;
mod picker;
mod screen;
mod search;
mod status;
mod styled;
mod team_panel;
mod vim;
mod writer;

pub use alert::Alert;
pub(crate) use alert::BELL;
pub use dialog::{Choice, Dialog};
pub use document::{Document, TextDocument};
pub use editor_mode::EditorMode;
pub use keys::{read_keys, read_keys_when};
pub use line::{PaneInput, command_in};
pub use pager::Pager;
pub use panel_action::PanelAction;
pub use picker::{Picker, PickerItem};
pub use screen::{Attacher, Completer, Console, ConsoleWriter};
pub use status::SessionStatus;
pub use team_panel::{PanelContent, PanelMember, PanelTask};
pub use writer::NonBlockingWriter;
