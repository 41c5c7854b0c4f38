//! The server's clock. Clocks of two machines are never compared.

use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// How long a measurement is used.
const FRESH: Duration = Duration::from_secs(30);

/// The last measurement: a moment here, and the server's time then or a little earlier.
#[derive(Debug, Default)]
pub(super) struct ServerClock(Mutex<Option<(Instant, i128)>>);

impl ServerClock {
    pub(super) fn set(&self, here: Instant, there: i128) {
        *self.0.lock() = Some((here, there));
    }

    /// Returns the server's time in nanoseconds since 1970, if it was measured recently.
    pub(super) fn now(&self) -> Option<i128> {
        let (here, there) = (*self.0.lock())?;
        let since = here.elapsed();
        let since_ns = i128::try_from(since.as_nanos()).ok()?;
        (since < FRESH).then_some(there + since_ns)
    }
}
