//! The picture as SVG: one file without scripts, fonts or references.
//!
//! Every run of text has its own place and length in cells, and the lines of boxes are drawn as strokes, so columns
//! stay straight in whatever font the reader has.

mod document;
mod markup;
mod runs;
mod strokes;

pub use document::svg;
