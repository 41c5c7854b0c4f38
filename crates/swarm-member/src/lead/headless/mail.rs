//! The mail of a headless lead.

use swarm_fs::NameFilter;
use swarm_protocol::{AgentId, LEAD_NAME};
use swarm_tools::Caller;

use super::Run;
use swarm_supervisor::LeadError;

impl Run {
    /// Takes mail into the transcript; tells whether there was any.
    pub(super) fn receive(&mut self) -> Result<bool, LeadError> {
        let has_ended = self.sub_agents.deliver_to(&mut self.session)?;
        self.watch_inbox();
        let messages = self.desk.take()?;
        if messages.is_empty() {
            return Ok(has_ended);
        }
        let delivery = self.session.deliver(self.desk.inject(&messages))?;
        let ids: Vec<_> = delivery
            .added
            .iter()
            .chain(&delivery.known)
            .cloned()
            .collect();
        self.desk.delivered_now(&ids)?;
        Ok(has_ended || !delivery.added.is_empty())
    }

    /// Notes a team that was founded meanwhile: the transcript and the tools name it from the next line on.
    pub(super) fn note_team(&mut self) {
        let team = self.seat.team();
        if self.session.parts().tool_context.caller.team != team {
            self.session.set_caller(Caller {
                name: self.seat.name.clone(),
                agent_id: team
                    .clone()
                    .map(|team| AgentId::new(self.seat.name.clone(), team)),
                team,
            });
        }
    }

    /// Watches the inbox of the present team, which may be another than before.
    pub(super) fn watch_inbox(&mut self) {
        let team = self.seat.team();
        if self.watched == team {
            return;
        }
        self.inbox = team.as_ref().map(|team| {
            let dep = &self.parts.deployment;
            let filter = NameFilter::Exact(vec![format!("{LEAD_NAME}.json").into()]);
            dep.watcher.subscribe(&dep.store.inbox_folder(team), filter)
        });
        self.watched = team;
    }
}
