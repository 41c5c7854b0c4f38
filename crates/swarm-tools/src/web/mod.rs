//! The web tools.

mod access;
mod fetch;
mod readable;
mod search;

pub use access::{WebAccess, WebRequest};
pub use fetch::WebFetch;
pub use search::WebSearch;
