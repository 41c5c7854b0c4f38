//! Headless members: each runs in its own process group and writes its output to a file.

mod backend;
mod kind;

pub use backend::HeadlessBackend;
pub(crate) use kind::Headless;
