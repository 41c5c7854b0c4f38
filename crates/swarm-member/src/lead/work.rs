//! The work of a lead, from its prompt to its outcome.

use swarm_agent::{EventSink as _, Injected};
use swarm_protocol::AgentEvent;
use swarm_supervisor::{Handover, LeadError};
use tokio_util::task::AbortOnDropHandle;

use super::Beginning;
use super::report::Outcome;
use super::role::LeadRole;
use crate::mail_delivery::TYPED;
use crate::role::MemberLoop;

impl MemberLoop<LeadRole> {
    /// Runs the lead until its work is done. `taken` is the team that it takes over.
    pub(super) async fn work(
        &mut self,
        taken: Option<Handover>,
        prompt: Option<String>,
    ) -> Result<Outcome, LeadError> {
        if let Some(taken) = taken {
            self.resume_team(&taken).await?;
        }
        if self.role.parts.is_interactive
            && let Some(text) = self.session.last_text()
        {
            // The person continues the conversation.
            self.reporter.emit(AgentEvent::MessageDone { text });
        }
        let is_run = !self.role.parts.is_interactive;
        self.begin_session(self.session.is_begun()).await;
        let is_stopped = is_run && self.session.halted().is_some();
        let withheld = match prompt.filter(|_| !is_stopped) {
            Some(prompt) => self.submit(prompt).await?,
            None => None,
        };
        let _timer = self.role.parts.timeout.map(|timeout| {
            let stop = self.stop.clone();
            AbortOnDropHandle::new(tokio::spawn(async move {
                tokio::time::sleep(timeout).await;
                stop.cancel();
            }))
        });
        let outcome = match (self.session.halted(), withheld) {
            (Some(why), _) if is_run => Outcome::StoppedByHook(why),
            (None, Some(why)) if is_run => Outcome::LeadFailed(why),
            (halted, withheld) => {
                // The notice of a hook that stops the agent has the reason.
                if let Some(why) = withheld.filter(|_| halted.is_none()) {
                    self.reporter.notice(why);
                }
                self.run().await?
            }
        };
        Ok(self.role.cut_short(&self.stop).unwrap_or(outcome))
    }

    /// Adds the prompt to the conversation. Returns why a hook withheld it, if one did.
    async fn submit(&mut self, prompt: String) -> Result<Option<String>, LeadError> {
        if self.role.parts.is_interactive {
            // Otherwise the screen would not say what the lead answers.
            let line = prompt.trim().lines().next().unwrap_or_default();
            self.reporter.emit(AgentEvent::MailIn {
                from: TYPED.to_owned(),
                color: None,
                line: line.to_owned(),
                more: None,
            });
        }
        let context = std::mem::take(&mut self.context);
        let prompt = vec![Injected::prompt(prompt)];
        let submitted = self.session.submit(context, prompt, &self.stop).await?;
        let withheld = submitted.withheld.into_iter().next();
        Ok(withheld.map(|one| format!("a hook withheld the prompt: {}", one.why)))
    }

    /// Tells the model the state of the team, and respawns dead members if requested.
    async fn resume_team(&mut self, taken: &Handover) -> Result<(), LeadError> {
        let parts = &self.role.parts;
        let mut back = Vec::new();
        for dead in taken
            .dead
            .iter()
            .filter(|_| parts.beginning == Beginning::Respawn)
        {
            let name = &dead.member.name;
            if dead.stopped_by_person {
                self.reporter.notice(format!(
                    "{name} was stopped by a person and is not restarted"
                ));
                continue;
            }
            let cancel = parts.stops.stop.child_token();
            let team = parts.spawn_context.team(&taken.team);
            match team.bring_back(dead, cancel).await {
                Ok(_) => back.push(name.clone()),
                Err(error) => self
                    .reporter
                    .notice(format!("{name} could not be spawned again: {error}")),
            }
        }
        let message = Injected::system(&taken.for_the_lead(&back));
        if parts.is_interactive {
            // It precedes the person's next prompt and does not start a turn.
            self.context.push(message);
        } else {
            self.session.deliver(vec![message])?;
        }
        Ok(())
    }
}
