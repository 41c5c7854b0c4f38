//! Commands that show changes go on while the hub of their team does not answer.

use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use swarm_store::Team;

use crate::failure::Result;
use crate::output::Output;

/// How long a hub may be silent before the person is told. While nobody asks, it sends a sign of life about
/// every three seconds.
pub(super) const SILENCE: Duration = Duration::from_secs(5);

/// How much the hub of a team has sent. An answer over a slow link may take long, but not without any sign
/// of life.
pub(super) struct Silence<'a> {
    team: &'a dyn Team,
    received: u64,
}

/// The end of an attempt to read.
enum Attempt {
    /// The hub did not answer.
    Failed,
    Done,
}

impl<'a> Silence<'a> {
    pub(super) fn of(team: &'a dyn Team) -> Self {
        let received = team.received();
        Self { team, received }
    }

    /// Returns whether the hub has sent nothing since the last call.
    pub(super) fn lasts(&mut self) -> bool {
        let before = std::mem::replace(&mut self.received, self.team.received());
        self.team.is_remote() && before == self.received
    }
}

/// Reads a team that could be read before. If its hub does not answer, reads again until it does, and
/// warns once that it does not, and then that it does again.
pub(super) fn read_on<T>(
    out: Output,
    team: &dyn Team,
    read: impl FnMut() -> Result<T>,
) -> Result<T> {
    read_on_reporting(out, team, |text| out.remark(text), read)
}

/// The same, with another way to report.
pub(super) fn read_on_reporting<T>(
    out: Output,
    team: &dyn Team,
    report: impl Fn(&str) + Send,
    read: impl FnMut() -> Result<T>,
) -> Result<T> {
    read_on_after(SILENCE, out, team, report, read)
}

fn read_on_after<T>(
    silence: Duration,
    out: Output,
    team: &dyn Team,
    report: impl Fn(&str) + Send,
    mut read: impl FnMut() -> Result<T>,
) -> Result<T> {
    if !team.is_remote() {
        return read();
    }
    thread::scope(|scope| {
        let (tell, attempts) = mpsc::channel();
        // Without the thread, nothing is reported.
        let _reporter = thread::Builder::new()
            .spawn_scoped(scope, move || report_on(silence, team, report, &attempts));
        loop {
            match read() {
                Err(failure) if failure.is_outage && out.is_wanted() => {
                    drop(tell.send(Attempt::Failed));
                }
                Ok(read) => {
                    drop(tell.send(Attempt::Done));
                    return Ok(read);
                }
                Err(failure) => return Err(failure),
            }
        }
    })
}

/// Reports on the hub until the attempts end.
fn report_on(
    silence: Duration,
    team: &dyn Team,
    report: impl Fn(&str),
    attempts: &Receiver<Attempt>,
) {
    let (place, mut heard) = (team.location(), Silence::of(team));
    let mut is_reported = false;
    loop {
        let is_silent = match attempts.recv_timeout(silence) {
            Ok(Attempt::Failed) => true,
            Err(RecvTimeoutError::Timeout) => heard.lasts(),
            Ok(Attempt::Done) if is_reported => {
                return report(&format!("{place} answers again"));
            }
            Ok(Attempt::Done) | Err(RecvTimeoutError::Disconnected) => return,
        };
        if is_silent && !std::mem::replace(&mut is_reported, true) {
            report(&format!("{place} does not answer; waiting for the hub"));
        }
    }
}

#[cfg(test)]
mod tests {
    use swarm_protocol::TeamName;
    use swarm_store::{StoreError, TeamStore as _};
    use swarm_ui::Theme;

    use super::*;
    use crate::app::store_at;
    use crate::failure::Failure;

    const LONG: Duration = Duration::from_mins(1);

    /// Reads with these results, each after `before`. Returns the last one and what was reported.
    fn reports(
        silence: Duration,
        mut results: Vec<Result<u32>>,
        before: impl Fn(&Receiver<()>),
    ) -> (Result<u32>, Vec<String>) {
        let directory = tempfile::tempdir().unwrap();
        let own = directory.path().join("teams/crew/swarm");
        std::fs::create_dir_all(&own).unwrap();
        swarm_os::replace_alone(&own.join("hub.json"), br#"{"url":"nats://hub"}"#).unwrap();
        let team = store_at(directory.path()).team(&TeamName::parse("crew").unwrap());
        let (tell, told) = mpsc::channel();
        let (seen, wait) = mpsc::channel();
        let report = move |text: &str| {
            tell.send(text.to_owned()).unwrap();
            // Nobody may wait for it.
            let _told = seen.send(());
        };
        let out = Output {
            json: false,
            quiet: false,
            theme: Theme::PLAIN,
        };
        let read = read_on_after(silence, out, &*team, report, || {
            before(&wait);
            results.remove(0)
        });
        (read, told.into_iter().collect())
    }

    fn assert_reported(told: &[String]) {
        let [gone, back] = told else {
            panic!("{told:?}");
        };
        assert!(
            gone.ends_with("does not answer; waiting for the hub"),
            "{gone}"
        );
        assert!(back.ends_with("answers again"), "{back}");
    }

    #[test]
    fn a_hub_that_does_not_answer_is_waited_for_and_reported_once() {
        let silent = || Err(StoreError::HubSilent("nats://hub".to_owned()).into());
        let (read, told) = reports(LONG, vec![silent(), silent(), Ok(7)], |_| {});
        assert_eq!(read.unwrap(), 7);
        assert_reported(&told);
    }

    #[test]
    fn a_hub_that_sends_nothing_is_reported_during_the_read() {
        let until_reported = |reported: &Receiver<()>| reported.recv().unwrap();
        let (read, told) = reports(Duration::ZERO, vec![Ok(7)], until_reported);
        assert_eq!(read.unwrap(), 7);
        assert_reported(&told);
    }

    #[test]
    fn a_hub_that_answers_soon_is_not_reported() {
        let (read, told) = reports(LONG, vec![Ok(7)], |_| {});
        assert_eq!((read.unwrap(), told), (7, Vec::new()));
    }

    #[test]
    fn another_failure_is_returned() {
        let refused: Failure = StoreError::HubLogin {
            hub: "nats://hub".to_owned(),
            why: "it does not accept the credentials".to_owned(),
        }
        .into();
        let (read, told) = reports(LONG, vec![Err(refused)], |_| {});
        let message = read.unwrap_err().message;
        assert!(message.contains("credentials"), "{message}");
        assert_eq!(told, Vec::<String>::new());
    }
}
