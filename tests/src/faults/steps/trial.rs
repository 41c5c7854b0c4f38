//! An operation with a fault injected at one call, and the resulting state.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread;

use parking_lot::Mutex;

use super::Operation;
use super::points::{Outcome, Point, traced};
use crate::faults::ground::TeamFixture;
use crate::faults::workers::Programs;
use swarm_store::BlockOn as _;

/// Number of concurrent trials.
const AT_A_TIME: usize = 4;

/// Injected fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InjectedFault {
    /// SIGKILL at the start of the call.
    Kill,
    /// The call fails with this error without effect.
    Fail(&'static str),
}

impl InjectedFault {
    /// Typical errors of a failing system.
    pub const ERRORS: [&'static str; 7] = [
        "EIO", "ENOSPC", "EINTR", "EMFILE", "EACCES", "EDQUOT", "EROFS",
    ];

    /// Returns the possible errors of a call. Closing a valid descriptor never fails.
    pub fn errors_at(point: &Point) -> Vec<Self> {
        match point.call.as_str() {
            "close" => Vec::new(),
            _ => Self::ERRORS.map(Self::Fail).into(),
        }
    }

    fn injection(self, point: &Point) -> String {
        let what = match self {
            Self::Kill => "signal=KILL".to_owned(),
            Self::Fail(error) => format!("error={error}"),
        };
        format!("inject={}:{what}:when={}", point.call, point.ordinal)
    }
}

/// An operation and its permitted resulting states.
#[derive(Debug)]
pub struct Trial {
    operation: Operation,
    before: String,
    once: String,
    twice: String,
}

/// Number of trials, and their results.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Report {
    /// Trials.
    pub trials: usize,
    /// The operation failed without effect.
    pub nothing: usize,
    /// The operation was completed.
    pub done: usize,
    /// The operation was incomplete, and completed by repeating it.
    pub half: usize,
}

impl std::ops::AddAssign for Report {
    fn add_assign(&mut self, other: Self) {
        self.trials += other.trials;
        self.nothing += other.nothing;
        self.done += other.done;
        self.half += other.half;
    }
}

impl Trial {
    /// Determines the result of the operation without faults.
    pub fn of(operation: Operation) -> Self {
        let ground = TeamFixture::fresh();
        operation.prepare(&ground);
        let before = Operation::picture(&ground);
        let again = || {
            // The second attempt may be a conflict.
            drop(operation.perform(&ground.store, &ground));
            Operation::picture(&ground)
        };
        Self {
            operation,
            before,
            once: again(),
            twice: again(),
        }
    }

    /// Tests each of the points.
    ///
    /// # Panics
    /// With the violations and their calls.
    pub fn at_each(&self, programs: &Programs, tries: &[(Point, InjectedFault)]) -> Report {
        let remaining = Mutex::new(tries.iter());
        let report = Mutex::new(Report::default());
        let failed = Mutex::new(Vec::new());
        thread::scope(|scope| {
            for _ in 0..AT_A_TIME {
                scope.spawn(|| {
                    let next = || remaining.lock().next();
                    while let Some((point, tampering)) = next() {
                        // The other points are tested anyway: a failure at one call often occurs at
                        // several.
                        let one = catch_unwind(AssertUnwindSafe(|| {
                            self.try_one(programs, point, *tampering)
                        }));
                        match one {
                            Ok(one) => *report.lock() += one,
                            Err(_) => failed.lock().push((point, *tampering)),
                        }
                    }
                });
            }
        });
        let failed = failed.into_inner();
        assert!(
            failed.is_empty(),
            "{:?} fails when tampered with at {failed:?}",
            self.operation
        );
        report.into_inner()
    }

    fn try_one(&self, programs: &Programs, point: &Point, tampering: InjectedFault) -> Report {
        let ground = TeamFixture::fresh();
        self.operation.prepare(&ground);
        let directory = tempfile::tempdir().expect("a directory");
        let trace = directory.path().join("trace");
        let call = format!("trace={}", point.call);
        let injection = tampering.injection(point);
        let outcome = traced(
            programs,
            &ground,
            self.operation,
            &trace,
            &["-e", &call, "-e", &injection],
        );
        let story = || {
            format!(
                "{:?}, {tampering:?} at {} {}: {outcome:?}\nbefore:\n{}once:\n{}",
                self.operation, point.call, point.ordinal, self.before, self.once
            )
        };
        assert!(
            !outcome.said.is_empty(),
            "it did not come so far: {}",
            story()
        );
        assert!(!outcome.errors.contains("panicked"), "{}", story());
        ground.assert_whole();
        let after = Operation::picture(&ground);
        let word = |word: &str| outcome.said.last().is_some_and(|line| line.word(0) == word);
        let mut report = Report {
            trials: 1,
            ..Report::default()
        };
        if word("acked") {
            assert_ne!(tampering, InjectedFault::Kill, "{}", story());
            assert_eq!(after, self.once, "said to be done: {}", story());
            report.done += 1;
        } else if after == self.before {
            report.nothing += 1;
        } else if after == self.once {
            report.done += 1;
            // A failed operation has no effect, except where the last call of the commit fails.
            let told_wrong = word("refused")
                && !["fsync", "fdatasync"].contains(&point.call.as_str())
                && !self.operation.may_be_seen_half_done();
            assert!(!told_wrong, "refused, and done all the same: {}", story());
        } else {
            report.half += 1;
            assert!(
                self.operation.may_be_seen_half_done(),
                "half done:\n{after}{}",
                story()
            );
        }
        self.recovers(&ground, &after, &story, &outcome);
        report
    }

    /// The next process repeats it without delay, and the state is complete and clean.
    fn recovers(
        &self,
        ground: &TeamFixture,
        after: &str,
        story: &dyn Fn() -> String,
        _outcome: &Outcome,
    ) {
        let next = ground.hurried();
        let again = self.operation.perform(&next, ground);
        if self.operation.is_finished_by_sweep() {
            let swept = swarm_store::TeamStore::sweep(&next, true).block_on();
            assert!(swept.is_ok(), "{swept:?}");
        }
        if after == self.before {
            assert!(again.is_ok(), "{again:?}, {}", story());
        }
        let wanted = if after == self.once {
            &self.twice
        } else {
            &self.once
        };
        let then = Operation::picture(ground);
        assert_eq!(&then, wanted, "again {again:?}: {}", story());
        ground.assert_whole();
        ground.pass_by(&next);
        ground.age_temporaries();
        let swept = swarm_store::TeamStore::sweep(&next, true).block_on();
        assert!(swept.is_ok(), "{swept:?}");
        let litter = ground.litter();
        assert!(litter.is_empty(), "{litter:?} is left, {}", story());
    }
}
