//! Operations on the thread that waits for their lock.

use std::sync::Arc;

use crate::lock::LockOptions;
use crate::lock_attempt::LockAttempt;
use crate::waiting::run_on_thread;

impl LockOptions {
    /// Runs an operation on a new thread, which waits for its first lock. It is repeated on the calling
    /// thread if the lock was not free in time, and fails there unless it is free by then. The
    /// operation must take the lock with the options that it gets.
    ///
    /// Without this, the thread that gets a lock in time would have to wake the one that waits until
    /// the deadline, while other processes wait for the lock.
    pub fn run_waiting<T: Send + 'static>(
        &self,
        operation: impl Fn(&Self) -> T + Send + Sync + 'static,
    ) -> T {
        let deadline = self.deadline();
        let began = deadline.began();
        let operation = Arc::new(operation);
        let (options, repeatable) = (self.clone(), Arc::clone(&operation));
        let done = run_on_thread(deadline, &LockAttempt::on_own_thread(), move |attempt| {
            repeatable(&Self {
                attempt: Some(attempt.clone()),
                ..options
            })
        });
        match done {
            Ok(Some(done)) => done,
            Ok(None) => operation(&Self {
                waiting_since: Some(began),
                ..self.clone()
            }),
            Err(error) => {
                tracing::debug!(%error, "no thread to wait for a lock");
                operation(self)
            }
        }
    }
}
