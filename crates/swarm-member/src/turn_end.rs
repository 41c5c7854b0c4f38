//! What the end of a turn shows: its failure, and questions of peers that it has not answered.

use swarm_agent::{TurnOutcome, TurnStop};
use swarm_protocol::{MemberName, MemberState};
use swarm_team::MemberContext;

use crate::reporter::Reporter;

/// Describes why a turn failed, in one line, with the resulting state.
pub(crate) fn failure(outcome: &TurnOutcome) -> Option<(MemberState, String)> {
    let Err(TurnStop::Failed(error)) = &outcome.end else {
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

/// Describes the questions of peers that are read and not answered: `unanswered: bob`.
pub(crate) async fn unanswered_detail(context: &MemberContext) -> Option<String> {
    let open = context.unanswered().await;
    let names: Vec<&str> = open.iter().map(MemberName::as_str).collect();
    (!names.is_empty()).then(|| format!("unanswered: {}", names.join(", ")))
}

/// Shows them at the end of a turn, each question once.
pub(crate) async fn show_unanswered(context: &MemberContext, reporter: &Reporter) {
    for (name, question) in context.take_unanswered().await {
        reporter.notice(format!(
            "this turn did not answer {name}, who asked: {question}"
        ));
    }
}
