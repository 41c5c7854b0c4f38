//! Fake agent programs.

use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use swarm_tests::stage::World;

/// The fake agent that speaks the Agent Client Protocol.
pub(super) const ACP_AGENT: &str = concat!(
    include_str!("../../kit/src/mcp-client.sh"),
    include_str!("../../kit/src/acp-agent.sh")
);

/// A fake of Claude Code with `stream-json`.
pub(super) const CLAUDE_CODE: &str = concat!(
    include_str!("../../kit/src/mcp-client.sh"),
    include_str!("../../kit/src/claude-code.sh")
);

/// Writes an executable script into the project directory.
pub(super) fn install(world: &World, name: &str, script: &str) -> PathBuf {
    let path = world.project().join(name);
    std::fs::write(&path, format!("#!/bin/sh\n{script}")).expect("the program");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("its mode");
    path
}
