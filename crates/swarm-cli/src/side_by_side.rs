//! Work on two threads.

use std::panic::resume_unwind;
use std::thread;

/// Runs two functions at the same time, the second one on the calling thread.
pub(crate) fn side_by_side<A: Send, B>(
    one: impl FnOnce() -> A + Send,
    other: impl FnOnce() -> B,
) -> (A, B) {
    thread::scope(|scope| {
        let one = scope.spawn(one);
        let other = other();
        let one = one.join();
        (one.unwrap_or_else(|cause| resume_unwind(cause)), other)
    })
}
