//! The lead's MCP servers.

use std::sync::Arc;

use swarm_engine::transcript_path;
use swarm_mcp::{McpHost, ProcessServers};
use swarm_policy::{Equipment, McpSettings};

use super::LeadParts;
use super::assemble::shell_env;

/// Starts them, and lets members know their tools: a member starts a server of its own only when it calls one.
pub(super) async fn start(parts: &mut LeadParts) -> ProcessServers {
    let dep = &parts.deployment;
    let settings = dep.equipment.mcp.clone();
    // Beside the transcript: the team, and the lead's folder in it, may come later.
    let logs = transcript_path(&dep.root, &dep.cwd, parts.session)
        .with_extension("")
        .join("mcp");
    let logs = with_programs(&settings).then(|| swarm_fs::ensure_private_dir(&logs).map(|()| logs));
    let host = McpHost {
        cwd: dep.cwd.clone(),
        env: shell_env(parts),
        logs: logs.and_then(Result::ok),
        limits: settings.bounds.into(),
    };
    let servers = ProcessServers::start(settings, host, &[], "", &parts.stop).await;
    let equipment = Equipment {
        mcp: servers.pool().listed().await,
        ..(*parts.deployment.equipment).clone()
    };
    parts.deployment.equipment = Arc::new(equipment);
    servers
}

fn with_programs(settings: &McpSettings) -> bool {
    !settings.servers.is_empty()
}
