//! Backoff and request rate per model server, shared by the members of all teams in one config directory.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use swarm_model::Throttle;
use swarm_os::{LockOptions, LockPlan, OsError, create_sidecar, ensure_private_dir, with_lock};
use swarm_protocol::{Clock, SystemClock, UnixMs};

/// Longest plausible wait. A file with a later time was written under a different clock.
const LONGEST: Duration = Duration::from_mins(15);

/// Timeout for the lock of the files. A lost update costs one more request to the server.
const PATIENCE: Duration = Duration::from_millis(500);

/// The time over which requests are counted.
const MINUTE_MS: u64 = 60_000;

/// Content of `swarm/backoff/<provider>+<server>`.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct Backoff {
    /// No request is sent before this time.
    until: UnixMs,
    /// Times of the requests of the last minute, oldest first, while their rate is limited.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    sent: Vec<UnixMs>,
}

/// Backoff that is stored in a file.
#[derive(Debug)]
pub(crate) struct FileThrottle {
    directory: PathBuf,
    file: PathBuf,
    /// Requests per minute.
    rate: Option<u64>,
}

impl FileThrottle {
    /// Returns the backoff of a server, identified by its address.
    pub(crate) fn new(root: &Path, provider: &str, address: &str) -> Self {
        let directory = root.join("swarm").join("backoff");
        let server = address.split_once("://").map_or(address, |(_, rest)| rest);
        let server = server.split('/').next().unwrap_or_default();
        let plain = |c: char| match c {
            'a'..='z' | 'A'..='Z' | '0'..='9' | '.' | '-' => c,
            _ => '_',
        };
        let server: String = server.chars().map(plain).collect();
        Self {
            file: directory.join(format!("{provider}+{server}")),
            directory,
            rate: None,
        }
    }

    /// Limits the requests of all agents per minute.
    pub(crate) fn limited_to(self, rate: Option<u64>) -> Self {
        Self { rate, ..self }
    }

    fn read(&self) -> Backoff {
        // The file rarely exists. A file that cannot be read does not delay requests.
        let bytes = swarm_os::read_optional(&self.file).ok().flatten();
        bytes
            .and_then(|bytes| serde_json::from_slice(&bytes).ok())
            .unwrap_or_default()
    }

    /// Changes the file under its lock, if `change` returns whether it did.
    fn change(&self, change: impl FnOnce(&mut Backoff) -> bool) -> Result<(), OsError> {
        ensure_private_dir(&self.directory)?;
        let sidecar = self.directory.join(".lock");
        create_sidecar(&sidecar)?;
        let plan = LockPlan {
            sidecar: &sidecar,
            data: &[],
        };
        let options = LockOptions {
            deadline: PATIENCE,
            ..LockOptions::below(&self.directory)
        };
        with_lock(&plan, &options, |_| {
            let mut backoff = self.read();
            if !change(&mut backoff) {
                return Ok(());
            }
            // Numbers always serialize.
            let bytes = serde_json::to_vec(&backoff).unwrap_or_default();
            swarm_os::replace_alone(&self.file, &bytes)
        })
    }
}

impl Backoff {
    fn remaining(&self, now: UnixMs) -> Duration {
        let remaining = Duration::from_millis(self.until.0.saturating_sub(now.0));
        if remaining > LONGEST {
            return Duration::ZERO;
        }
        remaining
    }

    /// Counts a request at `now` if there were fewer than `rate` in the last minute. Otherwise returns
    /// the time until the oldest of them is a minute ago.
    fn take(&mut self, rate: u64, now: UnixMs) -> Duration {
        // Later times were written under a different clock.
        self.sent
            .retain(|sent| *sent <= now && now.0 - sent.0 < MINUTE_MS);
        let excess = (self.sent.len() as u64).checked_sub(rate);
        let oldest = excess
            .and_then(|excess| usize::try_from(excess).ok())
            .and_then(|excess| self.sent.get(excess));
        if let Some(oldest) = oldest {
            return Duration::from_millis(MINUTE_MS - (now.0 - oldest.0));
        }
        self.sent.push(now);
        Duration::ZERO
    }
}

impl Throttle for FileThrottle {
    fn remaining(&self) -> Duration {
        self.read().remaining(SystemClock.now())
    }

    fn has_rate(&self) -> bool {
        self.rate.is_some()
    }

    fn take(&self) -> Duration {
        let Some(rate) = self.rate else {
            return Duration::ZERO;
        };
        let mut wait = Duration::ZERO;
        let taken = self.change(|backoff| {
            wait = backoff.take(rate, SystemClock.now());
            wait.is_zero()
        });
        if let Err(error) = taken {
            tracing::warn!(file = %self.file.display(), %error, "a request is not counted");
        }
        wait
    }

    fn hold(&self, wait: Duration) {
        let wait = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX);
        let until = UnixMs(SystemClock.now().0.saturating_add(wait));
        let held = self.change(|backoff| {
            let is_longer = backoff.remaining(SystemClock.now()).is_zero() || backoff.until < until;
            if is_longer {
                backoff.until = until;
            }
            is_longer
        });
        if let Err(error) = held {
            tracing::warn!(file = %self.file.display(), %error, "the other agents are not told to wait");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn longest_backoff_of_a_server_applies_and_other_servers_are_unaffected() {
        let root = tempfile::tempdir().unwrap();
        let of = |address| FileThrottle::new(root.path(), "anthropic", address);
        let [one, same, other] = [
            "https://api.anthropic.com",
            "https://api.anthropic.com/v1",
            "http://127.0.0.1:80",
        ]
        .map(of);
        assert_eq!(one.remaining(), Duration::ZERO);
        one.hold(Duration::from_mins(2));
        same.hold(Duration::from_mins(1));
        assert!(same.remaining() > Duration::from_secs(100), "{same:?}");
        assert_eq!(other.remaining(), Duration::ZERO);
        let written = std::fs::read_to_string(
            root.path()
                .join("swarm/backoff/anthropic+api.anthropic.com"),
        );
        assert!(written.unwrap().starts_with(r#"{"until":1"#));
    }

    #[test]
    fn requests_per_minute_are_counted_for_all_agents_together() {
        let root = tempfile::tempdir().unwrap();
        let agent = |rate| {
            FileThrottle::new(root.path(), "anthropic", "https://api.anthropic.com")
                .limited_to(Some(rate))
        };
        let (one, other) = (agent(2), agent(2));
        assert_eq!((one.take(), other.take()), (Duration::ZERO, Duration::ZERO));
        let wait = one.take();
        assert!(wait > Duration::from_secs(50), "{wait:?}");
        // A backoff keeps the counts.
        one.hold(Duration::from_millis(1));
        assert!(other.take() > Duration::from_secs(50));
        assert_eq!(agent(3).take(), Duration::ZERO);
        // The next request of two waits until only one is left.
        let mut backoff = Backoff {
            until: UnixMs(0),
            sent: [1000, 2000, 3000].map(UnixMs).to_vec(),
        };
        assert_eq!(backoff.take(2, UnixMs(10_000)), Duration::from_secs(52));
        assert_eq!(backoff.take(2, UnixMs(62_000)), Duration::ZERO);
        assert_eq!(backoff.sent, [3000, 62_000].map(UnixMs));
    }

    #[test]
    fn implausible_time_and_damaged_file_do_not_delay_requests() {
        let root = tempfile::tempdir().unwrap();
        let throttle = FileThrottle::new(root.path(), "openai", "http://[::1]:8080/v1");
        throttle.hold(Duration::from_hours(24));
        assert_eq!(throttle.remaining(), Duration::ZERO);
        throttle.hold(Duration::from_mins(1));
        assert!(throttle.remaining() > Duration::from_secs(50));
        swarm_os::replace_alone(&throttle.file, b"{").unwrap();
        assert_eq!(throttle.remaining(), Duration::ZERO);
    }
}
