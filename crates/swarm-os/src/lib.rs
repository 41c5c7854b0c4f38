//! Operating system services: locks, atomic file replacement, life locks, contained paths, file
//! watching, processes. Works on paths, bytes and processes, and knows no file formats. Functions
//! that are not `async` may block.

mod append;
mod boot_time;
mod contained;
mod dir_reader;
mod disk;
mod duplicate;
mod error;
mod file_system;
mod fingerprint;
mod flock;
mod handed_lock;
mod holder;
mod life;
mod lock;
mod lock_attempt;
mod lock_directory;
mod lock_support;
mod lock_waiting;
pub mod namespaces;
mod pending_sync;
mod private;
pub mod process;
mod relocate;
mod replace;
mod repository;
mod secret_pipe;
mod shell;
mod sync_handle;
mod waiting;
mod watch;

pub use append::{Appendable, append, append_durable, left_unsynced, open_for_appending};
pub use boot_time::boot_time;
pub use contained::{names_in, read_beginning, read_ending, read_optional, read_optional_from};
pub use dir_reader::DirReader;
pub use duplicate::{Duplication, can_reflink, duplicate_file, duplicate_tree};
pub use error::OsError;
pub use file_system::{free_space, shared_file_system};
pub use fingerprint::fingerprint;
pub use handed_lock::InheritableLock;
pub use life::{LifeHolder, Liveness, probe, probe_and_read, wait_for_death};
pub use lock::{LockGuard, LockOptions, LockPlan, with_lock, with_lock_after};
pub use lock_attempt::LockAttempt;
pub use lock_support::{LockSupport, lock_support};
pub use pending_sync::{PendingSync, in_parallel};
pub use private::{
    check_own_dir, create_private_dir, create_private_file, create_sidecar, ensure_private_dir,
    made_in, place_private_dir,
};
pub use relocate::{quarantine, remove_if_present, remove_tree, rename_no_replace};
pub use replace::{
    Original, place_alone, replace_alone, replace_in_private_dir, replace_passing,
    stale_temporaries, sweep_temporaries,
};
pub use repository::{LinkedWorktree, WORKTREES_DIRECTORY, repository_top};
pub use secret_pipe::SecretPipe;
pub use shell::find_shell;
pub use sync_handle::SyncHandle;
pub use waiting::LockInterrupt;
pub use watch::{DirectoryWatcher, InotifyUse, NameFilter, Subscription, inotify_use};
