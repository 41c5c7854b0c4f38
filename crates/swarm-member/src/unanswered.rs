//! Shows which questions of peers a turn has not answered.

use swarm_protocol::MemberName;
use swarm_team::MemberContext;

use crate::reporter::Reporter;

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
