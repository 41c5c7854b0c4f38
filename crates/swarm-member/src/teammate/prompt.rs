//! The system prompt of a teammate.

use swarm_team::SpawnOrder;
use swarm_tools::prompt;

/// Returns the blocks of the system prompt, except the environment, with the text of its
/// definition. They are constant for the conversation, so that a provider can cache them.
pub(crate) fn system_prompt(order: &SpawnOrder, of_definition: &[String]) -> Vec<String> {
    let mut blocks = vec![format!(
        "{}\n\n{}",
        identity(order),
        prompt!("software-work")
    )];
    blocks.extend(of_definition.iter().cloned());
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
