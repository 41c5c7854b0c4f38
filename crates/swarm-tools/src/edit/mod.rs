//! The Edit tool.

mod substitute;
mod tool;

pub use tool::Edit;
