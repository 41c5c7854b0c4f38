//! Runs blocking work on several items in parallel.

use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// Maximum number of threads. The work mostly waits for a disk; 64 threads were not faster than 16.
const MAX_THREADS: usize = 16;

/// Runs `work` on each item in several threads and returns the results in the order of the items.
/// For work that waits. If no thread can be started, the calling thread does all of it.
pub fn in_parallel<T: Sync, R: Send>(all: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let run = || {
        let mut done = Vec::new();
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = all.get(index) else {
                return done;
            };
            done.push((index, work(item)));
        }
    };
    let extra_threads = all.len().min(MAX_THREADS).saturating_sub(1);
    let mut done = thread::scope(|scope| {
        let threads: Vec<_> = (0..extra_threads)
            .map_while(|_| {
                let thread = thread::Builder::new().name("in parallel".to_owned());
                thread.spawn_scoped(scope, run).ok()
            })
            .collect();
        threads.into_iter().fold(run(), |mut done, thread| {
            done.extend(thread.join().unwrap_or_else(|cause| resume_unwind(cause)));
            done
        })
    });
    done.sort_by_key(|(index, _)| *index);
    done.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes_each_item_once_and_returns_results_in_order() {
        let items: Vec<usize> = (0..100).collect();
        let times = AtomicUsize::new(0);
        let doubled = in_parallel(&items, |item| {
            times.fetch_add(1, Ordering::SeqCst);
            item * 2
        });
        assert_eq!(
            doubled,
            items.iter().map(|item| item * 2).collect::<Vec<_>>()
        );
        assert_eq!(times.into_inner(), items.len());
        assert!(in_parallel(&[] as &[u8], |_| ()).is_empty());
    }
}
