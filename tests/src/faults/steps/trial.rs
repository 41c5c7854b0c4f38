//! One operation, tampered with at one call, and what is left of it.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread;

use parking_lot::Mutex;

use super::Operation;
use super::points::{Outcome, Point, traced};
use crate::faults::ground::Ground;
use crate::faults::workers::Programs;

/// How many trials go on at a time.
const AT_A_TIME: usize = 4;

/// What is done to a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tampering {
    /// SIGKILL as it begins.
    Kill,
    /// It fails with this error and has done nothing.
    Fail(&'static str),
}

impl Tampering {
    /// The errors that a system returns when it is in trouble.
    pub const ERRORS: [&'static str; 7] = [
        "EIO", "ENOSPC", "EINTR", "EMFILE", "EACCES", "EDQUOT", "EROFS",
    ];

    /// What can go wrong at a call. No system fails to close a descriptor that is there.
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

/// An operation with the pictures that are allowed.
#[derive(Debug)]
pub struct Trial {
    operation: Operation,
    before: String,
    once: String,
    twice: String,
}

/// How many trials there were, and how they ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Report {
    /// Trials.
    pub trials: usize,
    /// The operation was cut or refused and nothing had changed.
    pub nothing: usize,
    /// It was done all the same.
    pub done: usize,
    /// It was half done, and whole when it was done again.
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
    /// Finds out what the operation comes to when all is well.
    pub fn of(operation: Operation) -> Self {
        let ground = Ground::fresh();
        operation.prepare(&ground);
        let before = Operation::picture(&ground);
        let again = || {
            // The second time may be a conflict.
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

    /// Tries each of the points.
    ///
    /// # Panics
    /// With what is not as it should be, and at which call.
    pub fn at_each(&self, programs: &Programs, tries: &[(Point, Tampering)]) -> Report {
        let remaining = Mutex::new(tries.iter());
        let report = Mutex::new(Report::default());
        let failed = Mutex::new(Vec::new());
        thread::scope(|scope| {
            for _ in 0..AT_A_TIME {
                scope.spawn(|| {
                    let next = || remaining.lock().next();
                    while let Some((point, tampering)) = next() {
                        // The others are tried all the same: what fails at one call often fails at several.
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

    fn try_one(&self, programs: &Programs, point: &Point, tampering: Tampering) -> Report {
        let ground = Ground::fresh();
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
            assert_ne!(tampering, Tampering::Kill, "{}", story());
            assert_eq!(after, self.once, "said to be done: {}", story());
            report.done += 1;
        } else if after == self.before {
            report.nothing += 1;
        } else if after == self.once {
            report.done += 1;
            // What failed has not happened, but for what the disk itself says last.
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

    /// The next process does it again, is not kept waiting, and everything is whole and tidy.
    fn recovers(
        &self,
        ground: &Ground,
        after: &str,
        story: &dyn Fn() -> String,
        _outcome: &Outcome,
    ) {
        let next = ground.hurried();
        let again = self.operation.perform(&next, ground);
        if self.operation.is_finished_by_sweep() {
            let swept = swarm_store::TeamStore::sweep(&next, true);
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
        let swept = swarm_store::TeamStore::sweep(&next, true);
        assert!(swept.is_ok(), "{swept:?}");
        let litter = ground.litter();
        assert!(litter.is_empty(), "{litter:?} is left, {}", story());
    }
}
