//! Pages of the web, and searching it.

mod address;
mod door;
mod fetch;
mod readable;
mod search;

pub use door::{WebAccess, WebAnswer, WebRequest};
pub use fetch::WebFetch;
pub use search::WebSearch;
