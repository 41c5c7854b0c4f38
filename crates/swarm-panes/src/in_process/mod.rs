//! Members that are tasks of their lead's process.

mod backend;
mod host;
mod start;

pub(crate) use backend::InProcess;
pub use backend::InProcessBackend;
pub use host::InProcessHost;
pub use start::{InProcessStart, InProcessStop};
