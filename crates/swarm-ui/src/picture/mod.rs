//! Pictures of panes: SVG for pages, characters for terminals and logs.

mod canvas;
mod draw;
mod screen;

pub use canvas::{Frame, Pane, Window};
pub use draw::{recording, svg, text};
