//! The end of a run that is cut short: one deadline for everything that still runs, and the members stop while the
//! lead's own call does.

use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use swarm_supervisor::{LeadError, TeamStopReport};
use tokio_util::task::AbortOnDropHandle;

use super::LeadParts;
use super::role::LeadRole;
use super::run_end::end_members;
use crate::member_loop::MemberLoop;

/// Longest time from the stop of a run to its end: the lead's call, hooks, members, servers and what they left.
const LONGEST: Duration = Duration::from_millis(1700);
/// What a step gets that begins after that: enough to signal.
const LEAST: Duration = Duration::from_millis(50);

/// When everything is to have ended.
#[derive(Debug, Default)]
pub(super) struct EndDeadline(OnceLock<Instant>);

impl EndDeadline {
    /// Starts the time, unless it runs already.
    pub(super) fn begin(&self) {
        self.left();
    }

    /// How long a step may take that would take at most `most` by itself.
    pub(super) fn within(&self, most: Duration) -> Duration {
        self.left().max(LEAST).min(most)
    }

    fn left(&self) -> Duration {
        let end = *self.0.get_or_init(|| Instant::now() + LONGEST);
        end.saturating_duration_since(Instant::now())
    }
}

/// Members that stop while the lead's turn does; `None` where there was nobody to stop.
pub(super) type EarlyEnd = AbortOnDropHandle<Option<Result<TeamStopReport, LeadError>>>;

impl MemberLoop<LeadRole> {
    /// Starts the deadline as soon as the run is stopped, and stops the members then unless they outlive the lead.
    pub(super) fn follow_stop(&self) -> EarlyEnd {
        let parts = &self.role.parts;
        let is_left = outlived(parts);
        let (spawn_context, kill) = (parts.spawn_context.clone(), parts.kill.clone());
        let (deadline, stop) = (Arc::clone(&self.role.deadline), self.stop.clone());
        let (context, reporter) = (Arc::clone(self.context()), Arc::clone(&self.reporter));
        AbortOnDropHandle::new(tokio::spawn(async move {
            stop.cancelled().await;
            deadline.begin();
            if is_left() {
                return None;
            }
            let team = context.team()?;
            let tell = |line| reporter.notice(line);
            Some(end_members(&spawn_context, team.name(), &kill, tell).await)
        }))
    }
}

/// Whether members outlive a lead that was stopped: nobody asked for their end, its terminal was closed or its time was
/// up.
pub(super) fn outlived(parts: &LeadParts) -> impl Fn() -> bool + Send + 'static {
    let (stop, hangup, kill) = (parts.stop.clone(), parts.hangup.clone(), parts.kill.clone());
    let remove_team = parts.remove_team;
    move || {
        // A terminal that closes cancels `stop` as well.
        let is_timed_out = !stop.is_cancelled() && !remove_team;
        !kill.is_cancelled() && (hangup.is_cancelled() || is_timed_out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_steps_share_one_deadline_and_each_can_still_signal() {
        let deadline = EndDeadline::default();
        deadline.begin();
        let first = deadline.within(Duration::from_secs(10));
        assert!(first <= LONGEST, "{first:?}");
        assert!(deadline.within(Duration::from_secs(10)) <= first);
        let short = Duration::from_millis(20);
        assert_eq!(deadline.within(short), short);
        let over = EndDeadline(OnceLock::from(Instant::now()));
        assert_eq!(over.within(Duration::from_secs(10)), LEAST);
    }
}
