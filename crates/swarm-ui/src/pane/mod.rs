//! A teammate's pane: a plain scrolling log.

mod border;
mod calls;
mod detail;
mod flow;
mod grid;
mod header;
mod inline;
mod mail;
mod markdown;
mod paths;
mod request;
mod sheet;
mod sub_agents;
mod view;

pub use header::PaneHeader;
pub use view::PaneView;
