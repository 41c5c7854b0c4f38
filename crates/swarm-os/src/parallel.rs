//! The same work on many things at a time.

use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// How many are worked on at a time. Most of the time they wait for a disk; 64 were not faster than 16.
const AT_ONCE: usize = 16;

/// Runs `work` on each item, several at a time in threads of their own, and returns the results in the order of the items. For
/// work that waits: where no thread can be had, the calling one does it all.
pub fn in_parallel<T: Sync, R: Send>(all: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let run = || {
        let mut done = Vec::new();
        loop {
            let place = next.fetch_add(1, Ordering::Relaxed);
            let Some(one) = all.get(place) else {
                return done;
            };
            done.push((place, work(one)));
        }
    };
    let others = all.len().min(AT_ONCE).saturating_sub(1);
    let mut done = thread::scope(|scope| {
        let begun: Vec<_> = (0..others)
            .map_while(|_| {
                let thread = thread::Builder::new().name("in parallel".to_owned());
                thread.spawn_scoped(scope, run).ok()
            })
            .collect();
        begun.into_iter().fold(run(), |mut done, other| {
            done.extend(other.join().unwrap_or_else(|cause| resume_unwind(cause)));
            done
        })
    });
    done.sort_by_key(|(place, _)| *place);
    done.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_item_is_worked_on_once_and_the_results_are_in_order() {
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
