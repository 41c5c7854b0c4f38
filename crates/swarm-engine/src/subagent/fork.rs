//! A sub-agent that begins with its parent's conversation.

use swarm_tools::ToolOutput;

use super::{Parent, SubAgents};

impl SubAgents {
    /// The result of a call without a type, where such calls fork; none where they start a general agent.
    #[expect(
        clippy::unused_self,
        reason = "the place where calls without a type are forked"
    )]
    pub(crate) fn fork(
        &self,
        _parent: &Parent,
        _prompt: &str,
    ) -> Option<Result<ToolOutput, String>> {
        None
    }
}
