//! Events of an agent for its team: ends of sub-agents, compactions, and repeated calls.

use swarm_protocol::{AgentEvent, Event, MemberName, defang};
use swarm_store::{Draft, Team};

/// What a team learns of an event of a member's agent.
#[derive(Debug)]
pub struct TeamNews {
    member: MemberName,
    content: Content,
}

#[derive(Debug)]
enum Content {
    /// An entry of the journal.
    Entry(Event),
    /// A message to the lead.
    Message(Draft),
}

impl TeamNews {
    /// Returns what the team of `member` learns of an event: the end of a sub-agent, a compaction, and calls that are
    /// made over and over. `None` for other events.
    pub fn of(member: &MemberName, event: &AgentEvent) -> Option<Self> {
        let content = match event {
            AgentEvent::SubAgentEnded {
                id,
                agent_type,
                outcome,
                usage,
                model,
                ..
            } => Content::Entry(Event::SubAgentEnded {
                member: member.clone(),
                agent: id.clone(),
                agent_type: agent_type.clone(),
                outcome: outcome.clone(),
                usage: *usage,
                model: model.clone(),
            }),
            AgentEvent::Compacted {
                trigger,
                before,
                after,
            } => Content::Entry(Event::Compacted {
                member: member.clone(),
                trigger: trigger.clone(),
                pre_tokens: *before,
                tokens: *after,
            }),
            event => Content::Message(repetition(member, event)?),
        };
        Some(Self {
            member: member.clone(),
            content,
        })
    }

    /// Adds it to the journal, or sends it to the lead. A failure is only logged.
    pub async fn post(self, team: &dyn Team) {
        let posted = match self.content {
            Content::Entry(event) => team.journal(event).await,
            Content::Message(draft) => team.send(&MemberName::lead(), draft).await.map(drop),
        };
        if let Err(error) = posted {
            tracing::warn!(team = %team.name(), member = %self.member, %error, "the team was not told of an event");
        }
    }
}

/// Tells the lead that a member, or a sub-agent of it, makes the same call over and over. A lead is
/// not told about itself.
fn repetition(member: &MemberName, event: &AgentEvent) -> Option<Draft> {
    let (is_of_sub_agent, event) = match event {
        AgentEvent::SubAgentEvent { event, .. } => (true, &**event),
        event => (false, event),
    };
    let AgentEvent::CallRepeated { tool, input, times } = event else {
        return None;
    };
    if member.is_lead() {
        return None;
    }
    let who = if is_of_sub_agent {
        format!("A sub-agent of {member}")
    } else {
        member.to_string()
    };
    let text = format!(
        "{who} has made the same call {times} times in a row: {tool} {}. If it is stuck, tell it what to do instead.",
        defang(input)
    );
    Some(Draft::system(text).summarized())
}
