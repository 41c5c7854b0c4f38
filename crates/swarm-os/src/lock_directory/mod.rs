//! The lock directory `F.lock` next to a data file `F`.

mod breaking;
mod entry;
mod held;
mod stale;
mod wait;

pub(crate) use entry::{JUST_REFRESHED, Protocol};
pub(crate) use held::{LockDir, sweep_marks};
pub(crate) use wait::LockDirWait;
