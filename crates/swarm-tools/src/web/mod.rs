//! The web tools.

mod access;
mod fetch;
mod readable;
mod search;

pub use access::{WebAccess, WebAnswer, WebRequest};
pub use fetch::WebFetch;
pub use search::WebSearch;
