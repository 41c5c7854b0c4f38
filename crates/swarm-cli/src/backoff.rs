//! Backoff per model server, shared by the members of all teams in one config directory.

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

/// Content of `swarm/backoff/<provider>+<server>`.
#[derive(Debug, Serialize, Deserialize)]
struct Backoff {
    /// No request is sent before this time.
    until: UnixMs,
}

/// Backoff that is stored in a file.
#[derive(Debug)]
pub(crate) struct FileThrottle {
    directory: PathBuf,
    file: PathBuf,
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
        }
    }

    fn until(&self) -> Option<UnixMs> {
        // The file rarely exists. A file that cannot be read does not delay requests.
        let bytes = swarm_os::read_optional(&self.file).ok().flatten()?;
        let backoff: Backoff = serde_json::from_slice(&bytes).ok()?;
        Some(backoff.until)
    }

    fn write(&self, until: UnixMs) -> Result<(), OsError> {
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
            let known = self.until().filter(|_| !self.remaining().is_zero());
            if known.is_some_and(|known| known >= until) {
                return Ok(());
            }
            // Numbers always serialize.
            let bytes = serde_json::to_vec(&Backoff { until }).unwrap_or_default();
            swarm_os::replace_alone(&self.file, &bytes)
        })
    }
}

impl Throttle for FileThrottle {
    fn remaining(&self) -> Duration {
        let now = SystemClock.now().0;
        let remaining = self.until().map_or(0, |until| until.0.saturating_sub(now));
        let remaining = Duration::from_millis(remaining);
        if remaining > LONGEST {
            return Duration::ZERO;
        }
        remaining
    }

    fn hold(&self, wait: Duration) {
        let wait = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX);
        let until = UnixMs(SystemClock.now().0.saturating_add(wait));
        if let Err(error) = self.write(until) {
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
