//! How swarm touches a shared disk: locks, atomic replace, life locks, contained paths, watching.
//!
//! Knows paths and bytes, no formats. Everything here is synchronous and may block; only
//! [`Subscription::changed`] can be awaited.

mod append;
mod contained;
mod duplicate;
mod error;
mod handed_lock;
mod holder;
mod life;
mod lock;
mod lockdir;
mod private;
mod refresh;
mod relocate;
mod replace;
mod signal;
mod stale;
mod support;
mod waiting;
mod watch;
mod watched;

pub use append::append_durable;
pub use contained::read_optional;
pub use duplicate::{Duplication, can_reflink, duplicate_file, duplicate_tree};
pub use error::FsError;
pub use handed_lock::HandedLock;
pub use life::{LifeHolder, Liveness, probe, wait_for_death};
pub use lock::{Held, LockOptions, LockPlan, with_lock};
pub use private::{
    check_own_dir, create_private_dir, create_private_file, create_sidecar, ensure_private_dir,
};
pub use relocate::{remove_tree, rename_no_replace, set_aside};
pub use replace::{replace_alone, stale_temporaries, sweep_temporaries};
pub use support::{DoorSupport, door_support};
pub use watch::{FolderWatcher, NameFilter, Subscription};
