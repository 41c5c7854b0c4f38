//! The system prompt of a sub-agent.

use std::path::Path;

use swarm_policy::AgentDefinition;

/// What a definition without a prompt of its own says.
const GENERAL: &str = "\
You are an agent that another agent has started for one piece of work. You know nothing of its conversation but what \
your first message says. Do all of that work with your tools and nothing beyond it. Look before you claim, and say \
plainly what did not work.";

/// What every sub-agent has to know of how it is heard.
const HEARD: &str = "\
Only the text with which you end your turn is handed to the agent that started you; nobody reads what you write before. \
So end with a complete and short account of what you found or did, with absolute paths.";

/// The blocks of the system prompt; the same for the whole conversation.
pub(super) fn system_prompt(
    definition: &AgentDefinition,
    cwd: &Path,
    platform: &str,
) -> Vec<String> {
    let own = match definition.prompt.trim() {
        "" => GENERAL,
        prompt => prompt,
    };
    vec![
        format!("{own}\n\n{HEARD}"),
        format!(
            "# Environment\nWorking folder: {}\nPlatform: {platform}\n",
            cwd.display()
        ),
    ]
}
