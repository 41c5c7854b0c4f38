//! Work on several threads at the same time.

use std::panic::resume_unwind;
use std::thread;

/// Runs two functions at the same time, the second one on the calling thread.
pub(crate) fn run_both<A: Send, B>(
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

/// Does the same with all items at the same time.
pub(crate) fn run_all<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let work = &work;
    thread::scope(|scope| {
        let running = items.iter().map(|item| scope.spawn(move || work(item)));
        let running: Vec<_> = running.collect();
        let done = running.into_iter().map(thread::ScopedJoinHandle::join);
        done.map(|done| done.unwrap_or_else(|panic| resume_unwind(panic)))
            .collect()
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;

    use super::*;

    #[test]
    fn all_items_are_worked_on_at_the_same_time() {
        let barrier = Barrier::new(3);
        let work = |number: &u32| {
            barrier.wait();
            number * 2
        };
        assert_eq!(run_all(&[1, 2, 3], work), [2, 4, 6]);
    }
}
