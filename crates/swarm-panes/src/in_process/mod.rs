//! Members that are tasks of their lead's process.

mod backend;
mod host;
mod kind;
mod start;

pub use backend::InProcessBackend;
pub use host::InProcessHost;
pub(crate) use kind::InProcess;
pub use start::{InProcessStart, InProcessStop};
