//! A server of records in this process, for tests of what is built on the store. Delays, conflicts
//! and lost requests and acknowledgements can be injected.

mod faults;
mod space;
mod store;

pub use faults::{Hold, Silence};
pub use store::MemoryStore;
