//! Pictures of panes: SVG for pages, characters for terminals and logs.

mod canvas;
mod draw;
mod screen;
mod window;

pub use draw::{recording, svg, text};
pub use window::{Frame, Pane, Window};
