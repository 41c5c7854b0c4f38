//! Syntax colours of source code.

mod languages;
mod scan;

pub(crate) use scan::Syntax;
