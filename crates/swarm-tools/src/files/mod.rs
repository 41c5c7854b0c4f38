//! Shared parts of the file tools: path resolution, write protection and atomic replacement.

mod checkout;
mod confinement;
mod git_directory;
mod history;
mod load;
mod protected;
mod replace;
mod resolve;
mod restore;
mod runs_later;
mod state;
mod target;

pub use checkout::Checkout;
pub use confinement::Confinement;
pub(crate) use git_directory::{is_git_directory, part_of_git_directory};
pub use history::FileHistory;
pub(crate) use load::{load, open, refuse_special};
pub use protected::ProtectedPaths;
pub(crate) use protected::{PROGRAM_DIRECTORIES, PROGRAM_FILES, PROJECT_CONFIGURATION};
pub(crate) use replace::change;
use replace::replace;
pub use resolve::leads_to;
pub(crate) use resolve::{resolve, resolve_where};
pub use restore::{ChangedFile, Restoration};
pub(crate) use runs_later::executed_later;
pub use state::FileState;
pub(crate) use state::{ContentHasher, Freshness, Stamp};
pub(crate) use target::{Target, touched};
