//! What is written while the model is already asked.

use std::collections::VecDeque;
use std::fmt;
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use swarm_store::StoreError;

type Outcome = Result<(), StoreError>;
type Work = dyn FnOnce() -> Outcome + Send;

/// Writes to a team's files that nothing needs before the next look at them: a member's request for an answer is on its way
/// meanwhile. They are made one after the other, by a thread that ends with the last of them.
#[derive(Debug, Default)]
pub(crate) struct Chores(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    list: Mutex<List>,
    all_done: Condvar,
}

#[derive(Default)]
struct List {
    waiting: VecDeque<Box<Work>>,
    /// Whether somebody is at work on it.
    taken: bool,
    /// What the first that failed had to say.
    failure: Option<StoreError>,
}

impl Chores {
    /// Adds one, after those before it. Somebody begins it, or is the first to need it done.
    pub(crate) fn add(&self, work: impl FnOnce() -> Outcome + Send + 'static) {
        self.0.list().waiting.push_back(Box::new(work));
    }

    /// Begins what was added.
    pub(crate) fn begin(&self) {
        if !self.0.take() {
            return;
        }
        let shared = Arc::clone(&self.0);
        let thread = std::thread::Builder::new().name("writes team files".to_owned());
        if let Err(error) = thread.spawn(move || shared.work_off()) {
            tracing::debug!(%error, "no thread for a write: it is waited for");
            self.0.work_off();
        }
    }

    /// Returns once all are done; those that nobody has begun are done here.
    ///
    /// # Errors
    /// What the first that failed has to say.
    pub(crate) fn done(&self) -> Outcome {
        if self.0.take() {
            self.0.work_off();
        }
        let list = self.0.list();
        let waited = self.0.all_done.wait_while(list, |list| list.taken);
        let mut list = waited.unwrap_or_else(PoisonError::into_inner);
        list.failure.take().map_or(Ok(()), Err)
    }
}

impl Shared {
    fn list(&self) -> MutexGuard<'_, List> {
        self.list.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether there is work that nobody is at; whoever is told so has to do it.
    fn take(&self) -> bool {
        let mut list = self.list();
        !list.waiting.is_empty() && !mem::replace(&mut list.taken, true)
    }

    fn work_off(&self) {
        while let Some(work) = self.next() {
            let done = catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| {
                // Whatever was not written is found undone at the next look.
                tracing::error!("a write broke down");
                Ok(())
            });
            if let Err(error) = done {
                self.list().failure.get_or_insert(error);
            }
        }
    }

    fn next(&self) -> Option<Box<Work>> {
        let mut list = self.list();
        let next = list.waiting.pop_front();
        if next.is_none() {
            list.taken = false;
            self.all_done.notify_all();
        }
        next
    }
}

impl fmt::Debug for List {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("List")
            .field("waiting", &self.waiting.len())
            .field("taken", &self.taken)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use swarm_protocol::MemberName;

    use super::*;

    fn refused() -> Outcome {
        Err(StoreError::ReadByProgram {
            name: MemberName::parse("bob").unwrap(),
        })
    }

    #[test]
    fn chores_are_done_in_their_order_and_only_waited_for_when_asked() {
        let chores = Chores::default();
        let (open, gate) = channel::<()>();
        let written = Arc::new(Mutex::new(Vec::new()));
        let first = Arc::clone(&written);
        chores.add(move || {
            gate.recv().unwrap();
            first.lock().unwrap().push("first");
            Ok(())
        });
        chores.begin();
        let second = Arc::clone(&written);
        chores.add(move || {
            second.lock().unwrap().push("second");
            Ok(())
        });
        chores.begin();
        assert!(written.lock().unwrap().is_empty(), "begun, not waited for");
        open.send(()).unwrap();
        chores.done().unwrap();
        assert_eq!(*written.lock().unwrap(), ["first", "second"]);
    }

    #[test]
    fn what_nobody_begins_is_done_by_who_needs_it_done() {
        let chores = Chores::default();
        let written = Arc::new(Mutex::new(Vec::new()));
        for number in 0..3 {
            let written = Arc::clone(&written);
            chores.add(move || {
                let here = std::thread::current().id();
                written.lock().unwrap().push((number, here));
                Ok(())
            });
        }
        assert!(written.lock().unwrap().is_empty(), "added, not begun");
        chores.done().unwrap();
        let here = std::thread::current().id();
        assert_eq!(*written.lock().unwrap(), [(0, here), (1, here), (2, here)]);
    }

    #[test]
    fn a_failure_is_told_once_and_keeps_nothing_from_being_done() {
        let chores = Chores::default();
        let written = Arc::new(Mutex::new(0));
        chores.add(refused);
        let later = Arc::clone(&written);
        chores.add(move || {
            *later.lock().unwrap() += 1;
            Ok(())
        });
        chores.begin();
        chores.done().unwrap_err();
        assert_eq!(*written.lock().unwrap(), 1);
        chores.done().unwrap();
    }

    #[test]
    fn one_that_breaks_down_keeps_nobody_waiting() {
        let chores = Chores::default();
        chores.add(|| panic!("on purpose"));
        chores.begin();
        chores.done().unwrap();
        chores.add(refused);
        chores.done().unwrap_err();
    }
}
