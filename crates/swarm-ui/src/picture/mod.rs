//! Pictures of panes: SVG for pages, characters for terminals and logs.

mod canvas;
mod cell;
mod content;
mod line;
mod palette;
mod sgr;
mod svg;
mod text;
mod window;

pub use svg::svg;
pub use text::text;
pub use window::{Pane, Window};
