//! A teammate's pane: a plain scrolling log.

mod border;
mod calls;
mod detail;
mod grid;
mod header;
mod inline;
mod links;
mod log_canvas;
mod mail;
mod markdown;
mod paths;
mod request;
mod sub_agents;
mod text_wrap;
mod view;
mod view_calls;
mod view_mail;
mod view_state;

pub(crate) use calls::MAIL_TOOL;
pub use header::PaneHeader;
pub use links::Linker;
pub use view::PaneView;
