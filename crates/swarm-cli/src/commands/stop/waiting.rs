//! What a person reads while members take their time to end.

use std::future::Future;
use std::time::Duration;

use swarm_fs::Liveness;
use swarm_protocol::{MemberName, TeamName};

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
    tokio::pin!(work);
    tokio::select! {
        done = &mut work => return done,
        () = tokio::time::sleep(SILENCE) => {}
    }
    let awaited: Vec<String> = names
        .iter()
        .filter_map(|name| alive(app, team, name))
        .collect();
    if !awaited.is_empty() {
        app.out.say(&format!(
            "waiting for {} to end; whoever has not after {} s is ended by force",
            awaited.join(", "),
            patience.as_secs()
        ));
    }
    work.await
}

/// A member that lives, with what it says of itself.
fn alive(app: &App, team: &TeamName, name: &MemberName) -> Option<String> {
    // Words by the way: what cannot be read is told by the command itself.
    if !matches!(app.store.liveness(team, name), Ok(Liveness::Alive)) {
        return None;
    }
    let state = app.store.state(team, name).ok().flatten();
    Some(state.map_or_else(
        || name.to_string(),
        |report| format!("{name} ({})", report.state.name()),
    ))
}
