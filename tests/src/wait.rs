//! Waiting for named conditions, with a report of what is there instead.

use std::fmt::Display;

pub use swarm_testkit::{DEADLINE, wait_until};

/// [`wait_until`] with the default timeout; panics with the name and the output of `report`.
///
/// # Panics
/// On timeout.
#[track_caller]
pub fn wait_for<T, R: Display>(
    what: &str,
    report: impl FnOnce() -> R,
    condition: impl FnMut() -> Option<T>,
) -> T {
    match wait_until(what, DEADLINE, condition) {
        Ok(value) => value,
        Err(in_vain) => panic!("{in_vain}\n{}", report()),
    }
}
