//! Wakes those who watch records.

use std::collections::BTreeMap;

use futures::FutureExt as _;
use futures::future::select_all;
use parking_lot::Mutex;
use tokio::sync::watch;

use super::key::Key;

/// What was heard of some keys.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Rings {
    /// Number of writes. One may be counted twice by those who watch a prefix.
    pub(crate) writes: u64,
    /// The highest revision of a record that was written, or position after an entry of a log.
    pub(crate) newest: u64,
    /// Times after which writes may have been missed.
    pub(crate) gaps: u64,
}

impl Rings {
    fn add(&mut self, written: Option<u64>) {
        match written {
            Some(at) => {
                self.writes += 1;
                self.newest = self.newest.max(at);
            }
            None => self.gaps += 1,
        }
    }

    /// The same for a write that may have been heard of already: this process hears of its own writes
    /// when they are done and when they are announced. Returns whether it is news.
    fn add_once(&mut self, written: Option<u64>) -> bool {
        let is_news = written != Some(self.newest);
        if is_news {
            self.add(written);
        }
        is_news
    }
}

/// Tells watchers that records were written.
#[derive(Debug, Default)]
pub(crate) struct Bells(Mutex<BTreeMap<String, watch::Sender<Rings>>>);

impl Bells {
    /// Wakes those who watch a key or a prefix of it. `at` is the revision or position that was
    /// written.
    pub(crate) fn ring(&self, key: &Key, at: u64) {
        let is_its = |watched: &str| {
            let rest = key.as_str().strip_prefix(watched);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        let mut bells = self.0.lock();
        bells.retain(|_, bell| bell.receiver_count() > 0);
        for (watched, bell) in bells.iter().filter(|(watched, _)| is_its(watched)) {
            if watched == key.as_str() {
                bell.send_if_modified(|rings| rings.add_once(Some(at)));
            } else {
                // Writes of different keys may have the same number.
                bell.send_modify(|rings| rings.add(Some(at)));
            }
        }
    }

    /// Wakes those who watch exactly this key or prefix, unless they have heard of this revision or
    /// position, which no other write has; without one, something may have been missed. Returns `false` if
    /// it is not watched.
    pub(crate) fn ring_watched(&self, watched: &Key, at: Option<u64>) -> bool {
        let mut bells = self.0.lock();
        let Some(bell) = bells.get(watched.as_str()) else {
            return false;
        };
        if bell.receiver_count() == 0 {
            bells.remove(watched.as_str());
            return false;
        }
        bell.send_if_modified(|rings| rings.add_once(at));
        true
    }

    /// Returns whether exactly this key or prefix is watched.
    pub(crate) fn is_watched(&self, watched: &Key) -> bool {
        let bells = self.0.lock();
        let bell = bells.get(watched.as_str());
        bell.is_some_and(|bell| bell.receiver_count() > 0)
    }

    /// Wakes all waiters.
    pub(crate) fn ring_all(&self) {
        for bell in self.0.lock().values() {
            bell.send_modify(|rings| rings.add(None));
        }
    }

    /// Returns what changes at the next ring for one of these keys.
    pub(crate) fn heard(&self, keys: &[Key]) -> Heard {
        let mut bells = self.0.lock();
        let mut bell = |key: &Key| {
            bells
                .entry(key.as_str().to_owned())
                .or_default()
                .subscribe()
        };
        Heard(keys.iter().map(&mut bell).collect())
    }
}

/// What is heard of some keys.
#[derive(Debug)]
pub(crate) struct Heard(Vec<watch::Receiver<Rings>>);

impl Heard {
    /// Resolves at the next ring; `false` if there will be none, because the team is deleted.
    pub(crate) async fn changed(&mut self) -> bool {
        let each = self.0.iter_mut().map(|bell| bell.changed().boxed());
        select_all(each).await.0.is_ok()
    }

    /// Returns the rings so far; `None` if there will be no more.
    pub(crate) fn rings(&self) -> Option<Rings> {
        let mut sum = Rings::default();
        for bell in &self.0 {
            bell.has_changed().ok()?;
            let rings = *bell.borrow();
            sum.writes += rings.writes;
            sum.newest = sum.newest.max(rings.newest);
            sum.gaps += rings.gaps;
        }
        Some(sum)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_write_that_is_done_and_announced_wakes_once() {
        let bells = Bells::default();
        let (key, prefix) = (Key::new("record.inbox.alice"), Key::new("record.inbox"));
        let mut heard = bells.heard(std::slice::from_ref(&key));
        let mut woken = || heard.changed().now_or_never().is_some();
        bells.ring(&key, 7);
        assert!(woken());
        bells.ring_watched(&key, Some(7));
        assert!(!woken(), "the announcement is no news");
        bells.ring_watched(&key, Some(8));
        assert!(woken());
        bells.ring(&key, 8);
        assert!(!woken(), "it was announced before");
        bells.ring_watched(&key, None);
        assert!(woken(), "something may have been missed");

        let mut all = bells.heard(&[prefix]);
        for name in ["bob", "carol"] {
            bells.ring(&Key::new(format!("record.inbox.{name}")), 9);
            let woken = all.changed().now_or_never();
            assert!(woken.is_some(), "numbers of different keys are independent");
        }
    }
}
