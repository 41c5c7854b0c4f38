//! Members without a terminal: a process of its own process group, its output in a file.

mod backend;
mod record;

pub use backend::HeadlessBackend;
