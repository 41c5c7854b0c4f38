//! From a verdict to a yes or a no.

use swarm_protocol::{MemberState, PLAN_TOOL};
use swarm_tools::ModeSwitch as _;
use tokio_util::sync::CancellationToken;

use super::call::overdue;
use super::types::{NOT_RUN, Ready, Refusal, Verdict};
use swarm_permissions::{PermissionOutcome, PermissionRequest};

use crate::Session;

impl Session {
    /// What runs, after asking where that is needed; or what the model is told instead.
    pub(super) async fn settle(
        &self,
        id: &str,
        verdict: Verdict,
        cancel: &CancellationToken,
    ) -> Result<Ready, Refusal> {
        let not_run = || Err(Refusal::Other(NOT_RUN.to_owned()));
        let (ready, why, suggestions) = match verdict {
            Verdict::Run(ready) => return Ok(ready),
            Verdict::Refuse(why) => return Err(why),
            Verdict::Ask {
                ready,
                why,
                suggestions,
            } => (ready, why, suggestions),
        };
        let line = ready.tool.one_line(&ready.input);
        let request = PermissionRequest {
            tool_use_id: id.to_owned(),
            tool: ready.tool.name().to_owned(),
            input: ready.input.clone(),
            description: line,
            why,
            suggestions,
            next_mode: (ready.tool.name() == PLAN_TOOL)
                .then(|| self.parts.rights.after_plan())
                .flatten(),
        };
        if let Some(answer) = self.answered_by_hooks(&request, cancel).await {
            return if cancel.is_cancelled() {
                not_run()
            } else {
                self.apply(answer, ready)
            };
        }
        let answer = tokio::select! {
            answer = self.parts.gate.ask(request, cancel.clone()) => Some(answer),
            () = overdue(cancel, self.parts.limits.cancel_grace) => None,
        };
        self.state(MemberState::Working, None);
        match answer {
            // An answer that comes after the turn was interrupted no longer counts.
            Some(answer) if !cancel.is_cancelled() => self.apply(answer, ready),
            _ => not_run(),
        }
    }

    fn apply(&self, answer: PermissionOutcome, mut ready: Ready) -> Result<Ready, Refusal> {
        match answer {
            PermissionOutcome::Deny { why, .. } if ready.tool.name() == PLAN_TOOL => {
                Err(Refusal::Other(format!(
                    "The plan was not approved. {why}\nYou are still in plan mode: change nothing. Revise the plan, then call \
                 {PLAN_TOOL} again."
                )))
            }
            PermissionOutcome::Deny { why, .. } => Err(Refusal::Denied(why)),
            PermissionOutcome::Allow {
                updated_input,
                grants,
            } => {
                for grant in &grants {
                    if self.parts.rights.grant(grant) {
                        self.note_directories(grant);
                    } else {
                        tracing::warn!(agent = %self.parts.name, "a granted change is above the agent's ceiling or malformed, and was left out");
                    }
                }
                ready.input = updated_input.unwrap_or(ready.input);
                match self.decide(ready.clone()) {
                    Verdict::Refuse(why) => Err(why),
                    _ if !ready.input.is_object() => {
                        Err(Refusal::Other("The call was not run: the answer changed its input to something that is not a JSON object.".to_owned()))
                    }
                    Verdict::Run(_) | Verdict::Ask { .. } => Ok(ready),
                }
            }
        }
    }
}
