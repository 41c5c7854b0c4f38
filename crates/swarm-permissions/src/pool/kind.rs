//! The kinds of agents and the filter layers of each.

use serde::{Deserialize, Serialize};
use swarm_protocol::named_enum;

named_enum! {
    /// The role of an agent whose tools are filtered. Those of leads and forks are not: a fork needs
    /// exactly its parent's tools, since another list would invalidate the prompt cache.
    pub enum AgentKind {
        /// A lead that only delegates work.
        Coordinator = "coordinator",
        /// A teammate in its own process.
        TeammateProcess = "teammate",
        /// A teammate in its lead's process.
        TeammateInProcess = "in-process teammate",
        /// A sub-agent whose caller waits for it.
        SubAgent = "sub-agent",
        /// A sub-agent that runs while its caller continues.
        Background = "background agent",
    }
}

impl AgentKind {
    /// Returns whether the agent is a team member other than the lead.
    pub fn is_teammate(self) -> bool {
        matches!(self, Self::TeammateProcess | Self::TeammateInProcess)
    }

    /// Returns the filter layers for its tools, in order.
    pub fn layers(self) -> &'static [FilterLayer] {
        use FilterLayer::{
            AllAgents, Background, Coordinator, DefinitionAllow, DefinitionDeny, ParentCeiling,
        };
        match self {
            Self::Coordinator => &[Coordinator],
            Self::SubAgent => &[AllAgents, DefinitionDeny, DefinitionAllow, ParentCeiling],
            // Teammates run concurrently with their lead like background agents, in any process.
            Self::TeammateProcess | Self::TeammateInProcess | Self::Background => &[
                AllAgents,
                Background,
                DefinitionDeny,
                DefinitionAllow,
                ParentCeiling,
            ],
        }
    }
}

/// One of the filters that reduce all tools to those of an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FilterLayer {
    /// Tools denied to all agents below a lead.
    AllAgents,
    /// The only tools of background agents.
    Background,
    /// `disallowedTools` of the definition.
    DefinitionDeny,
    /// `tools` of the definition.
    DefinitionAllow,
    /// Restrictions by the definitions of parent agents.
    ParentCeiling,
    /// The only tools of a coordinator.
    Coordinator,
}

impl FilterLayer {
    /// Returns the name for display.
    pub fn name(self) -> &'static str {
        match self {
            FilterLayer::AllAgents => "all agents",
            FilterLayer::Background => "background",
            FilterLayer::DefinitionDeny => "definition: disallowedTools",
            FilterLayer::DefinitionAllow => "definition: tools",
            FilterLayer::ParentCeiling => "parent's ceiling",
            FilterLayer::Coordinator => "coordinator",
        }
    }
}
