//! Members without a terminal: a process of its own process group, its output in a file.

mod backend;
mod kind;
mod record;

pub use backend::HeadlessBackend;
pub(crate) use kind::Headless;
