//! The tools that change part of a file.

mod notebook;
mod substitute;
mod tool;

pub use notebook::NotebookEdit;
pub use tool::Edit;
