//! A teammate's pane: a plain scrolling log.

mod border;
mod calls;
mod flow;
mod header;
mod request;
mod sheet;
mod view;

pub use border::border_state;
pub use header::PaneHeader;
pub use view::PaneView;
