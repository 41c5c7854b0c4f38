//! Checks for other agent programs, which are optional.

use swarm_config::{Environment, RuntimePresets};
use swarm_protocol::AgentProgram;

use super::finding::Finding;
use crate::failure::Result;
use crate::runtimes;

/// Returns the installed agent programs, and how to install the others.
pub(super) fn check(env: &Environment) -> Result<Vec<Finding>> {
    const NAME: &str = "agent programs";
    let (mut found, mut others, mut packages) = (Vec::new(), Vec::new(), Vec::new());
    let RuntimePresets { claude, acp } = RuntimePresets::built_in()?;
    let acp = acp.into_iter();
    let acp = acp.map(|(name, preset)| (AgentProgram::Acp(name), preset));
    for (program, preset) in std::iter::once((AgentProgram::Claude, claude)).chain(acp) {
        if let Ok(order) = runtimes::resolve(env, &program) {
            found.push(format!("{program} ({})", order.argv[0]));
        } else {
            others.push(program.to_string());
            let package = preset.install.rsplit(' ').next().unwrap_or_default();
            packages.push(package.to_owned());
        }
    }
    let mut findings = Vec::new();
    if !found.is_empty() {
        findings.push(Finding::ok(NAME, found.join(", ")));
    }
    if !others.is_empty() {
        let text = format!("not installed (optional): {}", others.join(", "));
        let hint = format!(
            "to use one as a member: npm install -g {}",
            packages.join(" | ")
        );
        findings.push(Finding::ok(NAME, text).with_hint(hint));
    }
    Ok(findings)
}
