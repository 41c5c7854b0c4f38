//! Resolves a verdict to a decision about a call.

use serde_json::Value;
use swarm_permissions::{PermissionOutcome, PermissionRequest};
use swarm_protocol::{MemberState, PLAN_TOOL, ToolKind};
use swarm_tools::ModeSwitch as _;
use tokio_util::sync::CancellationToken;

use super::call::overdue;
use super::dispatch::kind_of;
use super::types::{NOT_RUN, PreparedCall, Refusal, Verdict};
use crate::git_ahead::refused_by_git;
use crate::{Session, Withdrawal};

impl Session {
    /// Refuses a call that requires approval but fails in any case: file tools never write its path,
    /// or the agent's `git` refuses it.
    pub(super) fn refuse_impossible(&self, verdict: Verdict) -> Verdict {
        let Verdict::Ask { ready, .. } = &verdict else {
            return verdict;
        };
        let context = self.call_context();
        let command = ready.input.get("command").and_then(Value::as_str);
        let why = match (ready.tool.kind(), command) {
            (ToolKind::Edit, _) => {
                let paths = ready.tool.touches(&ready.input, &context.cwd);
                let mut paths = paths.iter();
                paths.find_map(|path| context.protected.write_refusal(path))
            }
            (ToolKind::Execute, Some(command)) if ready.tool.name() == "Bash" => {
                let why = refused_by_git(command, &self.starts_in(), &context);
                why.map(|why| format!("The command was not run: refused by swarm. {why}"))
            }
            _ => None,
        };
        match why {
            Some(why) => Verdict::Refuse(Refusal::Other(why)),
            None => verdict,
        }
    }

    /// Returns the call to run, after requesting approval if required, or the refusal for the
    /// model.
    pub(super) async fn resolve(
        &self,
        id: &str,
        verdict: Verdict,
        cancel: &CancellationToken,
    ) -> Result<PreparedCall, Refusal> {
        let not_run = || Err(Refusal::Other(NOT_RUN.to_owned()));
        let (ready, why, suggestions, by_hook) = match verdict {
            Verdict::Run(ready) => return Ok(ready),
            Verdict::Refuse(why) => return Err(why),
            Verdict::Ask {
                ready,
                why,
                suggestions,
                by_hook,
            } => (ready, why, suggestions, by_hook),
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
        let by_hooks = self.answered_by_hooks(&request, cancel).await;
        if let Some(answer) = by_hooks.filter(|answer| !needs_person(&ready, answer)) {
            return if cancel.is_cancelled() {
                not_run()
            } else {
                self.apply(answer, ready)
            };
        }
        let withdrawal = Withdrawal::on(cancel.clone());
        let asked = self.parts.gate.ask(request, withdrawal.clone());
        tokio::pin!(asked);
        let mut decided = None;
        let answer = tokio::select! {
            answer = &mut asked => Some(answer),
            () = overdue(cancel, self.parts.limits.cancel_grace) => None,
            decision = self.decided_by_rights(&ready), if !by_hook => {
                decided = Some(decision);
                withdrawal.decide();
                tokio::select! {
                    answer = &mut asked => Some(answer),
                    () = overdue(cancel, self.parts.limits.cancel_grace) => None,
                }
            }
        };
        self.state(MemberState::Working, None);
        // A decision after the turn was interrupted does not count.
        let answer = answer.filter(|_| !cancel.is_cancelled());
        match (answer, decided) {
            (
                Some(PermissionOutcome::Deny {
                    answered: false, ..
                }),
                Some(decided),
            ) => decided,
            // It was answered before the rights changed.
            (Some(answer), _) => self.apply(answer, ready),
            (None, _) => not_run(),
        }
    }

    /// Resolves once changed rules or a changed mode decide about a call that required approval.
    async fn decided_by_rights(&self, ready: &PreparedCall) -> Result<PreparedCall, Refusal> {
        let mut changes = self.parts.rights.changes();
        loop {
            match self.decide(ready.clone()) {
                Verdict::Run(ready) => return Ok(ready),
                Verdict::Refuse(why) => return Err(why),
                Verdict::Ask { .. } => {}
            }
            // The sender is a part of the rights, so it is not dropped.
            let _changed = changes.changed().await;
        }
    }

    fn apply(
        &self,
        answer: PermissionOutcome,
        mut ready: PreparedCall,
    ) -> Result<PreparedCall, Refusal> {
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
                        tracing::warn!(agent = %self.parts.name, "ignoring a granted change that is invalid or exceeds the ceiling");
                    }
                }
                if let Some(input) = updated_input {
                    // The tools that ask a person report what the person said.
                    let reports = kind_of(&*ready.tool, &input) == ToolKind::Person;
                    ready.changed = !reports && input != ready.input;
                    ready.input = input;
                }
                match self.decide(ready.clone()) {
                    Verdict::Refuse(why) => Err(why),
                    _ if !ready.input.is_object() => {
                        Err(Refusal::Other("The call was not run: the approval replaced its input with something that is not a JSON object.".to_owned()))
                    }
                    Verdict::Run(_) | Verdict::Ask { .. } => {
                        if ready.changed {
                            let line = ready.tool.one_line(&ready.input);
                            self.notice(format!("changed with the approval: {line}"));
                        }
                        Ok(ready)
                    }
                }
            }
        }
    }
}

/// Returns whether a hook allows a call about which only a person decides.
fn needs_person(ready: &PreparedCall, answer: &PermissionOutcome) -> bool {
    match answer {
        PermissionOutcome::Allow { updated_input, .. } => {
            let input = updated_input.as_ref().unwrap_or(&ready.input);
            ready.tool.asks_person(&ready.input) || ready.tool.asks_person(input)
        }
        PermissionOutcome::Deny { .. } => false,
    }
}
