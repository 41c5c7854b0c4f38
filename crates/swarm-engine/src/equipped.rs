//! Tools that come of what a process is equipped with, for every agent in it.

use std::sync::Arc;

use swarm_policy::Equipment;
use swarm_tools::{SkillTool, Tool, builtin};

/// The tools that each agent has whatever its place in a team: the built-in ones, and those that the equipment makes
/// possible. One list for leads and teammates, so that all backends are equal.
pub fn own_tools(equipment: &Equipment) -> Vec<Arc<dyn Tool>> {
    let mut tools = builtin();
    if !equipment.skills.is_empty() {
        tools.push(Arc::new(SkillTool::new(&equipment.skills)));
    }
    tools
}
