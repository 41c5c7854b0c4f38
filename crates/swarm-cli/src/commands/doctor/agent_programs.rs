//! Checks for other agent programs, which are optional.

use swarm_config::{Environment, runtime_presets};
use swarm_protocol::AgentProgram;

use super::finding::Finding;
use crate::failure::Failure;
use crate::runtimes;

/// Returns the installed agent programs, and how to install the others.
pub(super) fn check(env: &Environment) -> Result<Vec<Finding>, Failure> {
    const NAME: &str = "agent programs";
    let (mut found, mut others, mut packages) = (Vec::new(), Vec::new(), Vec::new());
    if let Ok(order) = runtimes::resolve(env, &AgentProgram::Claude) {
        found.push(format!("claude ({})", order.argv[0]));
    } else {
        others.push("claude".to_owned());
        packages.push(runtimes::CLAUDE_PACKAGE.to_owned());
    }
    for (name, preset) in runtime_presets()? {
        if let Ok(order) = runtimes::resolve(env, &AgentProgram::Acp(name.clone())) {
            found.push(format!("acp:{name} ({})", order.argv[0]));
        } else {
            others.push(name);
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
