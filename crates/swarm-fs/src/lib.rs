//! How swarm touches a shared disk: locks, atomic replace, life locks, contained paths, watching.
//!
//! Knows paths and bytes, no formats. Everything here is synchronous and may block; only
//! [`Subscription::changed`] can be awaited.

mod error;
mod life;
mod lock;
mod stub;
mod watch;

pub use error::FsError;
pub use life::{LifeHolder, Liveness, probe, wait_for_death};
pub use lock::{Held, LockOptions, LockPlan, with_lock};
pub use stub::*;
pub use watch::{FolderWatcher, NameFilter, Subscription};
