//! Events of an agent for its team: ends of sub-agents, compactions, and repeated calls.

use swarm_protocol::{AgentEvent, Event, MemberName, defang};
use swarm_store::{BlockOn as _, Draft, Team};

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
    let entered = team
        .journal(Event::SubAgentEnded {
            member: member.clone(),
            agent: id.clone(),
            agent_type: agent_type.clone(),
            outcome: outcome.clone(),
            usage: *usage,
            model: model.clone(),
        })
        .block_on();
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
    let entered = team
        .journal(Event::Compacted {
            member: member.clone(),
            trigger: trigger.clone(),
            pre_tokens: *before,
            tokens: *after,
        })
        .block_on();
    if let Err(error) = entered {
        tracing::warn!(team = %team.name(), %member, %error, "cannot record a compaction in the journal");
    }
}

/// Tells the lead that a member, or a sub-agent of it, makes the same call over and over. A lead is
/// not told about itself.
pub fn tell_of_repetition(team: &dyn Team, member: &MemberName, event: &AgentEvent) {
    let (who, event) = match event {
        AgentEvent::SubAgentEvent { event, .. } => (format!("A sub-agent of {member}"), &**event),
        event => (member.to_string(), event),
    };
    let AgentEvent::CallRepeated { tool, input, times } = event else {
        return;
    };
    if member.is_lead() {
        return;
    }
    let text = format!(
        "{who} has made the same call {times} times in a row: {tool} {}. If it is stuck, tell it what to do instead.",
        defang(input)
    );
    let message = Draft::system(text).summarized();
    if let Err(error) = team.send(&MemberName::lead(), message).block_on() {
        tracing::warn!(team = %team.name(), %member, %error, "the lead was not told about a repeated call");
    }
}
