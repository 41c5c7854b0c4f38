//! What is written while the model is already asked.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use swarm_store::StoreError;

type Outcome = Result<(), StoreError>;

/// Writes to a team's files that nothing needs before the next look at them: a member's request for an answer is on its way
/// meanwhile. They are made one after the other.
#[derive(Debug, Default)]
pub(crate) struct Chores {
    last: Mutex<Option<Chore>>,
}

/// One write, and those that come before it.
#[derive(Debug)]
enum Chore {
    Running(JoinHandle<Outcome>),
    Done(Outcome),
}

impl Chores {
    /// Begins one, after those before it.
    pub(crate) fn begin(&self, work: impl Fn() -> Outcome + Send + Sync + 'static) {
        let mut last = self.last();
        let link = Arc::new(Link {
            before: Mutex::new(last.take()),
            work: Box::new(work),
        });
        let running = {
            let link = Arc::clone(&link);
            let thread = std::thread::Builder::new().name("writes team files".to_owned());
            thread.spawn(move || link.run())
        };
        *last = Some(match running {
            Ok(running) => Chore::Running(running),
            Err(error) => {
                tracing::debug!(%error, "no thread for a write: it is waited for");
                Chore::Done(link.run())
            }
        });
    }

    /// Returns once all are done.
    ///
    /// # Errors
    /// What the first that failed has to say.
    pub(crate) fn done(&self) -> Outcome {
        let last = self.last().take();
        last.map_or(Ok(()), Chore::wait)
    }

    fn last(&self) -> MutexGuard<'_, Option<Chore>> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Chore {
    fn wait(self) -> Outcome {
        match self {
            Self::Done(outcome) => outcome,
            Self::Running(thread) => thread.join().unwrap_or_else(|_| {
                // Whatever was not written is found undone at the next look.
                tracing::error!("a write broke down");
                Ok(())
            }),
        }
    }
}

struct Link {
    before: Mutex<Option<Chore>>,
    work: Box<dyn Fn() -> Outcome + Send + Sync>,
}

impl Link {
    fn run(&self) -> Outcome {
        let before = self
            .before
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        let before = before.map_or(Ok(()), Chore::wait);
        let own = (self.work)();
        before.and(own)
    }
}

impl fmt::Debug for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Link").finish_non_exhaustive()
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
        let (gate, written) = (Mutex::new(gate), Arc::new(Mutex::new(Vec::new())));
        let first = Arc::clone(&written);
        chores.begin(move || {
            gate.lock().unwrap().recv().unwrap();
            first.lock().unwrap().push("first");
            Ok(())
        });
        let second = Arc::clone(&written);
        chores.begin(move || {
            second.lock().unwrap().push("second");
            Ok(())
        });
        assert!(written.lock().unwrap().is_empty(), "begun, not waited for");
        open.send(()).unwrap();
        chores.done().unwrap();
        assert_eq!(*written.lock().unwrap(), ["first", "second"]);
    }

    #[test]
    fn a_failure_is_told_once_and_keeps_nothing_from_being_done() {
        let chores = Chores::default();
        let written = Arc::new(Mutex::new(0));
        chores.begin(refused);
        let later = Arc::clone(&written);
        chores.begin(move || {
            *later.lock().unwrap() += 1;
            Ok(())
        });
        chores.done().unwrap_err();
        assert_eq!(*written.lock().unwrap(), 1);
        chores.done().unwrap();
    }
}
