//! The Read tool.

mod lines;
mod tool;

pub use tool::Read;
