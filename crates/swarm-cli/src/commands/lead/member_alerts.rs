//! Which changes of teammates' states notify the person at a lead's terminal.

use std::collections::BTreeMap;
use std::time::Duration;

use swarm_protocol::{MemberName, MemberState, UnixMs};
use swarm_store::MemberView;

use super::status_line::LONG_TURN;
use crate::commands::members::since;

/// The teammates as they were when the team was last read; `None` before that.
#[derive(Debug, Default)]
pub(super) struct MemberAlerts(Option<BTreeMap<MemberName, Seen>>);

#[derive(Debug, Clone, Copy)]
struct Seen {
    state: MemberState,
    /// When its present work began.
    works_since: Option<UnixMs>,
}

impl MemberAlerts {
    /// Returns the reason of a notification for each teammate that can no longer work since the last
    /// reading, and for the last one that worked, if its work took long. What waits for an answer is a
    /// request, which notifies the person by itself. A death that `is_stopped` says is the work of a
    /// person is no news.
    pub(super) fn news(
        &mut self,
        members: &[MemberView],
        is_stopped: impl Fn(&MemberName) -> bool,
    ) -> Vec<String> {
        let mates = members.iter().filter(|view| !view.member.name.is_lead());
        let is_first = self.0.is_none();
        let known = self.0.take().unwrap_or_default();
        let mut news = Vec::new();
        let mut now = BTreeMap::new();
        for view in mates.clone() {
            let name = &view.member.name;
            let before = known.get(name);
            let began = before.and_then(|before| before.works_since);
            let at = since(view);
            let works_since = is_busy(view.state).then(|| began.or(at)).flatten();
            let state = view.state;
            now.insert(name.clone(), Seen { state, works_since });
            // A new teammate may have failed before it is read for the first time.
            if is_first || before.is_some_and(|before| before.state == state) {
                continue;
            }
            let took = began.zip(at).map_or(0, |(began, at)| at.since(began));
            let is_last = || !mates.clone().any(|view| is_busy(view.state));
            if state == MemberState::Dead && is_stopped(name) {
                continue;
            }
            if has_failed(state) {
                news.push(format!("{name}: {state}"));
            } else if state.waits_for_mail() && is_long(took) && is_last() {
                news.push(format!("{name} has finished its turn"));
            }
        }
        self.0 = Some(now);
        news
    }
}

fn is_long(milliseconds: u64) -> bool {
    Duration::from_millis(milliseconds) >= LONG_TURN
}

/// Whether a turn has begun and not ended.
fn is_busy(state: MemberState) -> bool {
    matches!(
        state,
        MemberState::Working | MemberState::Throttled | MemberState::Background
    ) || state.needs_answer()
}

/// Whether a member does not continue by itself.
fn has_failed(state: MemberState) -> bool {
    matches!(
        state,
        MemberState::Failed | MemberState::Dead | MemberState::Exhausted | MemberState::OverBudget
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use swarm_os::Liveness;
    use swarm_protocol::{Member, TeamName};

    use super::*;

    fn view(name: &str, state: MemberState, at: u64) -> MemberView {
        let team = TeamName::parse("demo").unwrap();
        let mut member = Member::lead(&team, "/".into(), UnixMs(1));
        member.name = MemberName::parse(name).unwrap();
        let spawn_id = "00000000-0000-0000-0000-000000000001";
        let report = json!({"spawnId": spawn_id, "state": state, "since": at});
        MemberView {
            member,
            state,
            report: Some(serde_json::from_value(report).unwrap()),
            liveness: Liveness::Alive,
            by_hand: false,
            parked_on: None,
            pause: None,
            unread: Some(0),
            damaged_inbox: None,
            process: None,
            frozen: false,
        }
    }

    fn news(alerts: &mut MemberAlerts, members: &[MemberView]) -> Vec<String> {
        alerts.news(members, |_| false)
    }

    #[test]
    fn a_teammate_that_a_person_kills_does_not_notify() {
        let mut alerts = MemberAlerts::default();
        for state in [MemberState::Working, MemberState::Dead] {
            assert_eq!(alerts.news(&[view("bob", state, 0)], |_| true), [""; 0]);
        }
    }

    #[test]
    fn o4_a_teammate_that_fails_notifies_once_with_its_name() {
        let mut alerts = MemberAlerts::default();
        let bob = |state| {
            [
                view("bob", state, 0),
                view("team-lead", MemberState::Failed, 0),
            ]
        };
        assert_eq!(news(&mut alerts, &bob(MemberState::Working)), [""; 0]);
        assert_eq!(
            news(&mut alerts, &bob(MemberState::Failed)),
            ["bob: failed"]
        );
        assert_eq!(news(&mut alerts, &bob(MemberState::Failed)), [""; 0]);
        assert_eq!(news(&mut alerts, &bob(MemberState::Dead)), ["bob: dead"]);
        assert_eq!(news(&mut alerts, &[]), [""; 0]);
        assert_eq!(
            news(&mut alerts, &bob(MemberState::Failed)),
            ["bob: failed"]
        );
        let mut alerts = MemberAlerts::default();
        let old = bob(MemberState::Dead);
        assert_eq!(
            news(&mut alerts, &old),
            [""; 0],
            "dead before the lead started"
        );
    }

    #[test]
    fn o4_the_last_teammate_that_finishes_long_work_notifies() {
        let mut alerts = MemberAlerts::default();
        let mut at = |bob, eve, seconds: u64| {
            news(
                &mut alerts,
                &[
                    view("bob", bob, seconds * 1000),
                    view("eve", eve, seconds * 1000),
                ],
            )
        };
        let (busy, asks, idle) = (
            MemberState::Working,
            MemberState::WaitingPermission,
            MemberState::Idle,
        );
        assert_eq!(at(busy, busy, 0), [""; 0]);
        assert_eq!(at(asks, idle, 20), [""; 0], "bob is not done");
        assert_eq!(at(busy, idle, 25), [""; 0]);
        assert_eq!(at(idle, idle, 26), ["bob has finished its turn"]);
        assert_eq!(at(busy, idle, 30), [""; 0]);
        assert_eq!(at(idle, idle, 39), [""; 0], "it was short");
    }
}
