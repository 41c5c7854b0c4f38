//! Commands that show changes go on while the hub of their team does not answer.

use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use swarm_store::Team;

use crate::failure::Result;

/// How long a read may take before the person is told.
pub(super) const SILENCE: Duration = Duration::from_secs(3);

/// Reads a team that was read before, again until its hub answers. Reports once that the hub does not
/// answer, and then that it does. `read` may fail in any place.
pub(super) fn read_on<T>(
    team: &dyn Team,
    report: impl Fn(&str) + Send,
    read: impl FnMut() -> Result<T>,
) -> Result<T> {
    read_on_after(SILENCE, team, report, read)
}

fn read_on_after<T>(
    silence: Duration,
    team: &dyn Team,
    report: impl Fn(&str) + Send,
    mut read: impl FnMut() -> Result<T>,
) -> Result<T> {
    if !team.is_remote() {
        return read();
    }
    let place = team.location();
    let (running, done) = mpsc::channel::<()>();
    thread::scope(|scope| {
        scope.spawn(move || {
            if done.recv_timeout(silence) == Err(RecvTimeoutError::Timeout) {
                report(&format!("{place} does not answer; waiting for the hub"));
                // Fails when the team was read.
                let _ended = done.recv();
                report(&format!("{place} answers again"));
            }
        });
        let _running = running;
        loop {
            match read() {
                Err(failure) if failure.is_outage => {}
                read => return read,
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use swarm_protocol::TeamName;
    use swarm_store::{StoreError, TeamStore as _};

    use super::*;
    use crate::app::store_at;
    use crate::failure::Failure;

    fn silent() -> Failure {
        StoreError::HubSilent("nats://hub".to_owned()).into()
    }

    /// Reads until `last`, the result of the last of several reads. Returns what was reported.
    fn reports(silence: Duration, last: Result<u32>) -> (Result<u32>, Vec<String>) {
        let directory = tempfile::tempdir().unwrap();
        let own = directory.path().join("teams/crew/swarm");
        std::fs::create_dir_all(&own).unwrap();
        swarm_os::replace_alone(&own.join("hub.json"), br#"{"url":"nats://hub"}"#).unwrap();
        let team = store_at(directory.path()).team(&TeamName::parse("crew").unwrap());
        let (tell, told) = mpsc::channel();
        let (seen, wait) = mpsc::channel();
        let mut results = vec![last, Err(silent()), Err(silent())];
        let report = move |text: &str| {
            tell.send(text.to_owned()).unwrap();
            // Nobody waits for it after a short read.
            let _told = seen.send(());
        };
        let read = read_on_after(silence, &*team, report, || {
            if results.len() == 1 && silence.is_zero() {
                wait.recv().unwrap();
            }
            results.pop().unwrap()
        });
        (read, told.into_iter().collect())
    }

    #[test]
    fn a_hub_that_does_not_answer_is_waited_for_and_reported_once() {
        let (read, told) = reports(Duration::ZERO, Ok(7));
        assert_eq!(read.unwrap(), 7);
        let [gone, back] = &told[..] else {
            panic!("{told:?}");
        };
        assert!(
            gone.ends_with("does not answer; waiting for the hub"),
            "{gone}"
        );
        assert!(back.ends_with("answers again"), "{back}");
    }

    #[test]
    fn a_hub_that_answers_soon_is_not_reported() {
        let (read, told) = reports(Duration::from_mins(1), Ok(7));
        assert_eq!((read.unwrap(), told), (7, Vec::new()));
    }

    #[test]
    fn another_failure_is_returned() {
        let refused = StoreError::HubLogin {
            hub: "nats://hub".to_owned(),
            why: "it does not accept the credentials".to_owned(),
        };
        let (read, _) = reports(Duration::from_mins(1), Err(refused.into()));
        let message = read.unwrap_err().message;
        assert!(message.contains("credentials"), "{message}");
    }
}
