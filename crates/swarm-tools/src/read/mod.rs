//! The Read tool.

mod lines;
mod pdf;
mod tool;

pub use tool::{Read, read_picture};
