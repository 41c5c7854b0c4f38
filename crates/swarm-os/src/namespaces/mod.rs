//! Namespaces (`namespaces(7)`) for a process tree that sees only a part of the file system, no
//! processes outside and, on request, no network. One process creates them, its child becomes the
//! first process inside, and later processes join. All of them must have one thread.

mod bind;
mod closing;
mod enter;
mod fixed;
mod fixed_mounts;
mod handover;
mod ids;
mod loopback;
mod mount_table;
mod mounts;
mod placeholders;
mod privileges;

pub use bind::MountError;
pub use closing::end_processes;
pub use enter::{NamespaceMember, enter_new_namespaces, join_namespaces};
pub use fixed::{FixedEntry, FixedKind};
pub use fixed_mounts::FixedMounts;
pub use handover::{receive_files, send_files};
pub use loopback::start_loopback;
pub use mounts::{MountView, Replacement};
pub use placeholders::LeftPlaceholder;
pub use privileges::{drop_all_privileges, drop_system_privileges};
