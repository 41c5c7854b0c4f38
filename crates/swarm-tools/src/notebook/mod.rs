//! Jupyter notebooks: display for models, and changes of one cell.

mod change;
mod file;
mod show;

pub(crate) use change::{Change, changed};
pub(crate) use file::is_notebook;
pub(crate) use show::show;
