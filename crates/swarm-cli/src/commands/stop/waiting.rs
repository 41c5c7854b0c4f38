//! Progress messages while members stop.

use std::future::Future;
use std::time::Duration;

use swarm_os::Liveness;
use swarm_protocol::{MemberName, with_commas};
use swarm_store::{BlockOn as _, Team, process::is_stopped};

use crate::app::App;
use crate::commands::node::Elsewhere;

/// Delay before the first message: most members stop sooner.
const SILENCE: Duration = Duration::from_secs(2);

/// Runs the work that stops `names`. If it takes long, reports the remaining members and when they
/// will be terminated.
pub(in crate::commands) async fn saying_who<T>(
    app: &App,
    team: &dyn Team,
    names: &[MemberName],
    patience: Duration,
    work: impl Future<Output = T>,
) -> T {
    tokio::pin!(work);
    tokio::select! {
        done = &mut work => return done,
        () = tokio::time::sleep(SILENCE) => {}
    }
    if let Some(line) = waited_for(team, names, patience) {
        app.out.say(&line);
    }
    work.await
}

fn waited_for(team: &dyn Team, names: &[MemberName], patience: Duration) -> Option<String> {
    let patience = patience.as_secs();
    if let Some(awaited) = who_lives(team, names) {
        let places = names
            .iter()
            .map(|name| matches!(Elsewhere::of(team, name), Ok(Some(_))));
        return Some(line(&awaited, patience, &places.collect::<Vec<_>>()));
    }
    // Their processes are not known, so only they can end the wait.
    let config = team.config().block_on().ok()?;
    let is_foreign =
        |name: &&MemberName| config.member(name).is_some_and(|one| one.swarm.is_none());
    let foreign = with_commas(names.iter().filter(is_foreign));
    (!foreign.is_empty())
        .then(|| format!("waiting for {foreign} of another program to agree, {patience} s at most"))
}

/// Says who is waited for and what happens then: processes on other machines cannot be terminated from
/// here.
fn line(awaited: &str, patience: u64, are_elsewhere: &[bool]) -> String {
    let then = match (
        are_elsewhere.contains(&false),
        are_elsewhere.contains(&true),
    ) {
        (_, false) => format!("; members still running after {patience} s are terminated"),
        (true, true) => {
            format!("; members on this machine still running after {patience} s are terminated")
        }
        (false, true) => format!(" for {patience} s at most"),
    };
    format!("waiting for {awaited} to stop{then}")
}

/// Returns the running members with their activities; `None` if no member is running.
pub(in crate::commands) fn who_lives(team: &dyn Team, names: &[MemberName]) -> Option<String> {
    let alive = with_commas(names.iter().filter_map(|name| alive(team, name)));
    (!alive.is_empty()).then_some(alive)
}

/// Describes a running member and its activity.
fn alive(team: &dyn Team, name: &MemberName) -> Option<String> {
    // Only informational: the command itself reports read errors.
    if !matches!(team.liveness(name).block_on(), Ok(Liveness::Alive)) {
        return None;
    }
    let state = team.state(name).block_on().ok().flatten();
    let record = team.life_record(name).block_on();
    let frozen = record.is_some_and(|life| is_stopped(life.pid, &life.proc_start));
    let words: Vec<&str> = state
        .map(|report| report.state.name())
        .into_iter()
        .chain(frozen.then_some("frozen"))
        .collect();
    Some(if words.is_empty() {
        name.to_string()
    } else {
        format!("{name} ({})", words.join(", "))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_members_on_this_machine_are_said_to_be_terminated() {
        let said = |are_elsewhere: &[bool]| line("a (idle)", 13, are_elsewhere);
        assert_eq!(
            said(&[false]),
            "waiting for a (idle) to stop; members still running after 13 s are terminated"
        );
        assert_eq!(
            said(&[false, true]),
            "waiting for a (idle) to stop; members on this machine still running after 13 s are terminated"
        );
        assert_eq!(
            said(&[true]),
            "waiting for a (idle) to stop for 13 s at most"
        );
    }
}
