//! Waiting for conditions.

use std::time::{Duration, Instant};

/// Timeout of a condition. Generous because the machine may be busy; a passing test never reaches
/// it.
const DEADLINE: Duration = Duration::from_mins(1);

const POLL_INTERVAL: Duration = Duration::from_millis(3);

/// Waits until a condition returns a value; the failure names the condition.
pub async fn until<T>(what: &str, mut condition: impl FnMut() -> Option<T>) -> T {
    let end = Instant::now() + DEADLINE;
    loop {
        if let Some(value) = condition() {
            return value;
        }
        assert!(Instant::now() < end, "timed out waiting for: {what}");
        tokio::time::sleep(POLL_INTERVAL).await;
    }
}

/// Like [`until`], on a plain thread.
pub fn wait_for<T>(what: &str, mut condition: impl FnMut() -> Option<T>) -> T {
    let end = Instant::now() + DEADLINE;
    loop {
        if let Some(value) = condition() {
            return value;
        }
        assert!(Instant::now() < end, "timed out waiting for: {what}");
        std::thread::park_timeout(POLL_INTERVAL);
    }
}
