//! Journal events of an agent: ends of sub-agents, and compactions.

use swarm_protocol::{AgentEvent, Event, MemberName};
use swarm_store::blocking::Team;

/// Records in the journal that a sub-agent of `member` has ended; ignores other events. A failure
/// is only logged.
pub fn enter_sub_agent(team: &dyn Team, member: &MemberName, event: &AgentEvent) {
    let AgentEvent::SubAgentEnded {
        id,
        agent_type,
        outcome,
        usage,
        model,
        ..
    } = event
    else {
        return;
    };
    let entered = team.journal(Event::SubAgentEnded {
        member: member.clone(),
        agent: id.clone(),
        agent_type: agent_type.clone(),
        outcome: outcome.clone(),
        usage: *usage,
        model: model.clone(),
    });
    if let Err(error) = entered {
        tracing::warn!(team = %team.name(), %member, %error, "cannot record the end of a sub-agent in the journal");
    }
}

/// Records a compaction of the member's own conversation.
pub fn enter_compaction(team: &dyn Team, member: &MemberName, event: &AgentEvent) {
    let AgentEvent::Compacted {
        trigger,
        before,
        after,
    } = event
    else {
        return;
    };
    let entered = team.journal(Event::Compacted {
        member: member.clone(),
        trigger: trigger.clone(),
        pre_tokens: *before,
        tokens: *after,
    });
    if let Err(error) = entered {
        tracing::warn!(team = %team.name(), %member, %error, "cannot record a compaction in the journal");
    }
}
