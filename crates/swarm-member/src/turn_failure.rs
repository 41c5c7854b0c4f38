//! The state in which a failed turn leaves a member.

use swarm_agent::TurnOutcome;
use swarm_protocol::MemberState;

/// Describes why a turn failed, in one line, with the resulting state.
pub(crate) fn failure(outcome: &TurnOutcome) -> Option<(MemberState, String)> {
    let TurnOutcome::Failed { error, .. } = outcome else {
        return None;
    };
    let state = if error.is_out_of_room() {
        MemberState::Exhausted
    } else {
        MemberState::Failed
    };
    let line = error.to_string().lines().next()?.to_owned();
    Some((state, line))
}
