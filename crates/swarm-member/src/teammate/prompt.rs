//! The system prompt of a teammate.

use swarm_engine::PromptEnvironment;
use swarm_protocol::{Member, UnixMs};
use swarm_team::SpawnOrder;
use swarm_tools::prompt;

use crate::teammate::ProcessFacts;

/// What a teammate's prompt tells beside its order.
pub(crate) struct PromptFacts<'a> {
    /// Name of the model, without provider.
    pub(crate) model: &'a str,
    /// Its process.
    pub(crate) process: &'a ProcessFacts,
    /// The members of its team as it starts, itself among them or not.
    pub(crate) members: &'a [Member],
    /// What its definition says.
    pub(crate) of_definition: &'a [String],
    /// The present time.
    pub(crate) now: UnixMs,
}

/// Returns the blocks of the system prompt. They stay the same for the whole conversation, so that a provider can keep
/// them in its prompt cache.
pub(crate) fn system_prompt(order: &SpawnOrder, facts: &PromptFacts<'_>) -> Vec<String> {
    let environment = PromptEnvironment {
        cwd: &order.cwd,
        platform: &facts.process.platform,
        model: facts.model,
        now: facts.now,
    };
    let mut blocks = vec![
        format!("{}\n\n{}", identity(order), prompt!("software-work")),
        format!("{}{}", environment.section(), peers(order, facts.members)),
    ];
    blocks.extend(facts.of_definition.iter().cloned());
    blocks.extend(order.instructions.iter().cloned());
    blocks
}

fn identity(order: &SpawnOrder) -> String {
    let agent = &order.agent;
    prompt!("teammate")
        .replace("{name}", agent.name.as_str())
        .replace("{team}", agent.team.as_str())
        .replace("{agent}", &agent.to_string())
}

/// The other members, so that it knows whom it can write to before its first message.
fn peers(order: &SpawnOrder, members: &[Member]) -> String {
    let others = members
        .iter()
        .filter(|member| member.name != order.agent.name);
    let names: Vec<String> = others
        .map(|member| match &member.agent_type {
            Some(kind) if !member.name.is_lead() => format!("{} ({kind})", member.name),
            _ => member.name.to_string(),
        })
        .collect();
    if names.is_empty() {
        return String::new();
    }
    format!("\nTeam members when you joined: {}", names.join(", "))
}
