//! The scratchpad: a directory in which the members of a team, or the workers of a coordinator,
//! write without permission.

use std::path::{Path, PathBuf};

use swarm_os::ensure_private_dir;
use swarm_permissions::{AgentConfig, RuleSet};
use swarm_tools::prompt;

use crate::rights::may_edit;
use crate::{AgentError, Result};

/// Creates the scratchpad `name` below the state directory `root` and shares it with all agents
/// that get this configuration.
///
/// # Errors
/// [`AgentError::Scratchpad`] if it cannot be created.
pub fn share_scratchpad(agent_config: &mut AgentConfig, root: &Path, name: &str) -> Result<()> {
    // Not in a team's directory, where file tools cannot write.
    let path = root.join("scratchpad").join(name);
    ensure_private_dir(&path).map_err(|source| AgentError::Scratchpad {
        path: path.clone(),
        source,
    })?;
    // Rules match canonical paths.
    let path = path.canonicalize().unwrap_or(path);
    agent_config.shell.write.push(path.clone());
    agent_config.scratchpad = Some(path);
    Ok(())
}

/// Returns the block of a worker's system prompt that names the scratchpad.
pub fn scratchpad_section(scratchpad: &Path) -> String {
    prompt!("scratchpad").replace("{directory}", &scratchpad.display().to_string())
}

/// Returns the rules that let an agent use the scratchpad without approval.
pub fn scratchpad_rules(scratchpad: Option<&PathBuf>) -> RuleSet {
    let Some(scratchpad) = scratchpad else {
        return RuleSet::default();
    };
    let mut rules = may_edit(scratchpad, "scratchpad");
    rules.directories.push(scratchpad.clone());
    rules
}
