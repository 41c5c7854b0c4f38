//! A fake agent that speaks the Agent Client Protocol.

use std::collections::BTreeMap;

use swarm_runtimes::{AcpRuntime, ProgramSpec};

/// The fake agent, a shell script with answers by rote.
pub const ACP_AGENT: &str = concat!(include_str!("mcp-client.sh"), include_str!("acp-agent.sh"));

/// Returns a runtime whose agent is a separate process with [`ACP_AGENT`].
pub fn fake_acp_agent() -> AcpRuntime {
    fake_acp_agent_with(BTreeMap::new())
}

/// Like [`fake_acp_agent`], with these variables for the script.
pub fn fake_acp_agent_with(env: BTreeMap<String, String>) -> AcpRuntime {
    AcpRuntime::new(ProgramSpec {
        name: "acp:fake".to_owned(),
        argv: ["/bin/sh", "-c", ACP_AGENT].map(str::to_owned).to_vec(),
        env,
        key: None,
        swarm: "swarm".into(),
        state: Vec::new(),
        accounts: None,
        introduction: "You are in a team.".to_owned(),
    })
}
