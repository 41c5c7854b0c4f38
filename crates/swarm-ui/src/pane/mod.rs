//! A teammate's pane: a plain scrolling log.

mod border;
mod calls;
mod flow;
mod header;
mod mail;
mod paths;
mod request;
mod sheet;
mod sub_agents;
mod view;

pub use header::PaneHeader;
pub use view::PaneView;
