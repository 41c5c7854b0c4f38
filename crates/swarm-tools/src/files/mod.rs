//! What the file tools share: which path is meant, whether it may be touched, and how a file is replaced.

mod confinement;
mod load;
mod protected;
mod replace;
mod resolve;
mod state;
mod target;

pub use confinement::Confinement;
pub(crate) use load::load;
pub use protected::ProtectedPaths;
pub(crate) use replace::{create, replace};
pub(crate) use resolve::{resolve, resolve_where};
pub use state::FileState;
pub(crate) use state::{ContentHasher, Freshness, Stamp};
pub(crate) use target::{Target, touched};
