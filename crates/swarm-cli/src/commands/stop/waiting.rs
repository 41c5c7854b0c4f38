//! What a person reads while members take their time to end.

use std::future::Future;
use std::time::Duration;

use swarm_fs::Liveness;
use swarm_protocol::{Member, MemberName, TeamName};
use swarm_store::process::is_stopped;

use crate::app::App;

/// How long nothing is said: most members end sooner.
const SILENCE: Duration = Duration::from_secs(2);

/// Does what ends `names`; where it takes long, says who is waited for, and when they are no longer asked but ended.
pub(in crate::commands) async fn saying_who<T>(
    app: &App,
    team: &TeamName,
    names: &[MemberName],
    patience: Duration,
    work: impl Future<Output = T>,
) -> T {
    saying(app, || waited_for(app, team, names, patience), work).await
}

/// The same for a member whose name another spawn is to have, until that spawn begins.
pub(in crate::commands) async fn saying_who_goes<T>(
    app: &App,
    team: &TeamName,
    old: &Member,
    patience: Duration,
    work: impl Future<Output = T>,
) -> T {
    let line = || {
        let config = app.store.config(team).ok()?;
        let now = config.member(&old.name)?;
        if now.spawn_id() != old.spawn_id() {
            return None;
        }
        waited_for(app, team, std::slice::from_ref(&old.name), patience)
    };
    saying(app, line, work).await
}

/// Does something; where it takes long, says `line`, if there is anything to say by then.
async fn saying<T>(
    app: &App,
    line: impl FnOnce() -> Option<String>,
    work: impl Future<Output = T>,
) -> T {
    tokio::pin!(work);
    tokio::select! {
        done = &mut work => return done,
        () = tokio::time::sleep(SILENCE) => {}
    }
    if let Some(line) = line() {
        app.out.say(&line);
    }
    work.await
}

fn waited_for(
    app: &App,
    team: &TeamName,
    names: &[MemberName],
    patience: Duration,
) -> Option<String> {
    let awaited = who_lives(app, team, names)?;
    let patience = patience.as_secs();
    Some(format!(
        "waiting for {awaited} to end; whoever has not after {patience} s is ended by force"
    ))
}

/// Those of the members that live, each with what it says of itself; none where nobody does.
pub(in crate::commands) fn who_lives(
    app: &App,
    team: &TeamName,
    names: &[MemberName],
) -> Option<String> {
    let alive: Vec<String> = names
        .iter()
        .filter_map(|name| alive(app, team, name))
        .collect();
    (!alive.is_empty()).then(|| alive.join(", "))
}

/// A member that lives, with what it says of itself.
fn alive(app: &App, team: &TeamName, name: &MemberName) -> Option<String> {
    // Words by the way: what cannot be read is told by the command itself.
    if !matches!(app.store.liveness(team, name), Ok(Liveness::Alive)) {
        return None;
    }
    let state = app.store.state(team, name).ok().flatten();
    let frozen = app
        .store
        .life_record(team, name)
        .is_some_and(|life| is_stopped(life.pid, &life.proc_start));
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
