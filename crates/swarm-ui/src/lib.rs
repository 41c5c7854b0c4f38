//! All drawing from typed events: a teammate's pane, tables, pictures of panes.
//!
//! This crate makes no decisions and does not read the environment: [`Theme`] determines the style,
//! and all untrusted text passes [`clean_text`] or [`clean_line`] before it reaches a terminal.

mod console;
mod difference;
mod pane;
pub mod picture;
pub mod print;
mod sanitize;
mod signs;
mod style;
mod syntax;
mod theme;
mod width;

pub use console::{
    Alert, Attacher, Choice, Completer, Console, ConsoleWriter, DesktopAlert, Dialog, Document,
    EditorMode, FormAnswer, FormQuestion, NonBlockingWriter, Pager, PaneInput, PanelAction,
    PanelContent, PanelMember, PanelTask, Picker, PickerItem, SessionChange, SessionStatus,
    TextDocument, command_in, read_keys, read_keys_when,
};
pub use pane::{Linker, PaneHeader, PaneView};
pub use sanitize::{clean_line, clean_text};
pub use theme::{HeightSource, Theme, WidthSource};
