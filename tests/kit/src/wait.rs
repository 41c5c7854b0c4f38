//! Waiting for conditions.

use std::time::{Duration, Instant};

/// How long a condition may take. Generous, since the machine may be busy; a test that passes never waits for it.
const DEADLINE: Duration = Duration::from_mins(1);

const LOOK: Duration = Duration::from_millis(3);

/// Waits until a condition gives a value, and names it when it never does.
pub async fn until<T>(what: &str, mut condition: impl FnMut() -> Option<T>) -> T {
    let end = Instant::now() + DEADLINE;
    loop {
        if let Some(value) = condition() {
            return value;
        }
        assert!(Instant::now() < end, "waited in vain for: {what}");
        tokio::time::sleep(LOOK).await;
    }
}

/// The same for a plain thread.
pub fn wait_for<T>(what: &str, mut condition: impl FnMut() -> Option<T>) -> T {
    let end = Instant::now() + DEADLINE;
    loop {
        if let Some(value) = condition() {
            return value;
        }
        assert!(Instant::now() < end, "waited in vain for: {what}");
        std::thread::park_timeout(LOOK);
    }
}
