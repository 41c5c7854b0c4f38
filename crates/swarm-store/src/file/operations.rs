//! Runs the operations of a file team such that they never block an asynchronous caller on a lock.

use swarm_os::{LockAttempt, LockOptions};

use super::team::FileTeam;
use crate::blocking_pool::on_blocking_pool;
use crate::operations::asynchronous_team;

asynchronous_team!(FileTeam);

impl FileTeam {
    /// Runs an operation on the caller's thread, without waiting for a lock. If a lock is not free
    /// within 0.1 ms, the operation is repeated on a thread that waits for it, up to the deadline.
    ///
    /// A [`LockAttempt`] guarantees that the abandoned execution has changed no data: it may only have
    /// created an empty lock file or directory, or removed leftovers, as the next one would. An operation
    /// that changes something before its last lock belongs in [`Self::run_blocking`], because it
    /// would wait for the later lock on the caller's thread.
    async fn run<T: Send + 'static>(
        &self,
        operation: impl Fn(&Self) -> T + Send + Sync + 'static,
    ) -> T {
        let attempt = LockAttempt::default();
        let options = LockOptions {
            attempt: Some(attempt.clone()),
            ..self.store.lock_options.clone()
        };
        let done = operation(&self.with_lock_options(options));
        if !attempt.is_abandoned() {
            return done;
        }
        self.run_blocking(move |team| {
            let repeated = team.clone();
            let operation = move |options: &LockOptions| {
                operation(&repeated.with_lock_options(options.clone()))
            };
            team.store.lock_options.run_waiting(operation)
        })
        .await
    }

    fn with_lock_options(&self, options: LockOptions) -> Self {
        let mut team = self.clone();
        team.store.lock_options = options;
        team
    }

    /// Runs an operation on the blocking pool: one that takes several locks or waits for the disk
    /// several times.
    async fn run_blocking<T: Send + 'static>(
        &self,
        operation: impl FnOnce(&Self) -> T + Send + 'static,
    ) -> T {
        let team = self.clone();
        on_blocking_pool(move || operation(&team)).await
    }

    fn team_name(&self) -> &TeamName {
        &self.team
    }

    pub(super) fn waiting_at_most(&self, at_most: Duration) -> Self {
        let mut team = self.clone();
        let deadline = &mut team.store.lock_options.deadline;
        *deadline = at_most.min(*deadline);
        team
    }
}
