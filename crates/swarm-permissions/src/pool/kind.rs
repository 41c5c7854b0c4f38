//! The kinds of agents, and the layers that each of them passes.

use std::fmt;

use serde::{Deserialize, Serialize};

/// What an agent is to whoever started it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AgentKind {
    /// The lead of a team.
    Lead,
    /// A lead that only hands out work.
    Coordinator,
    /// A teammate in a process of its own.
    TeammateProcess,
    /// A teammate in its lead's process.
    TeammateInProcess,
    /// A sub-agent that its caller waits for.
    SubAgent,
    /// A sub-agent that works while its caller goes on.
    Background,
    /// A sub-agent that carries on its caller's conversation.
    Fork,
}

impl AgentKind {
    /// Every kind.
    pub const ALL: [AgentKind; 7] = [
        AgentKind::Lead,
        AgentKind::Coordinator,
        AgentKind::TeammateProcess,
        AgentKind::TeammateInProcess,
        AgentKind::SubAgent,
        AgentKind::Background,
        AgentKind::Fork,
    ];

    /// The word for people.
    pub fn name(self) -> &'static str {
        match self {
            AgentKind::Lead => "lead",
            AgentKind::Coordinator => "coordinator",
            AgentKind::TeammateProcess => "teammate",
            AgentKind::TeammateInProcess => "in-process teammate",
            AgentKind::SubAgent => "sub-agent",
            AgentKind::Background => "background agent",
            AgentKind::Fork => "fork",
        }
    }

    /// Whether it is a member of a team below its lead.
    pub fn is_teammate(self) -> bool {
        matches!(self, Self::TeammateProcess | Self::TeammateInProcess)
    }

    /// The layers that its tools pass, in order.
    pub fn layers(self) -> &'static [FilterLayer] {
        use FilterLayer::{
            AllAgents, Background, Coordinator, CustomAgents, DefinitionAllow, DefinitionDeny,
            ParentCeiling,
        };
        match self {
            // A fork's tools are its parent's, byte for byte: another list would cost the parent's prompt cache.
            Self::Lead | Self::Fork => &[],
            Self::Coordinator => &[Coordinator],
            Self::SubAgent => &[
                AllAgents,
                CustomAgents,
                DefinitionDeny,
                DefinitionAllow,
                ParentCeiling,
            ],
            // Teammates work beside their lead as background agents do, whatever holds their process.
            Self::TeammateProcess | Self::TeammateInProcess | Self::Background => &[
                AllAgents,
                CustomAgents,
                Background,
                DefinitionDeny,
                DefinitionAllow,
                ParentCeiling,
            ],
        }
    }
}

/// One step of the way from all tools to those of one agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FilterLayer {
    /// What no agent below a lead gets.
    AllAgents,
    /// What no agent of a definition that is not built in gets.
    CustomAgents,
    /// What alone an agent gets that works in the background.
    Background,
    /// `disallowedTools` of the definition.
    DefinitionDeny,
    /// `tools` of the definition.
    DefinitionAllow,
    /// What the definitions of the agents above it let through.
    ParentCeiling,
    /// What alone a coordinator gets.
    Coordinator,
}

impl FilterLayer {
    /// Every layer, in order.
    pub const ALL: [FilterLayer; 7] = [
        FilterLayer::AllAgents,
        FilterLayer::CustomAgents,
        FilterLayer::Background,
        FilterLayer::DefinitionDeny,
        FilterLayer::DefinitionAllow,
        FilterLayer::ParentCeiling,
        FilterLayer::Coordinator,
    ];

    /// The words for people.
    pub fn name(self) -> &'static str {
        match self {
            FilterLayer::AllAgents => "all agents",
            FilterLayer::CustomAgents => "custom agents",
            FilterLayer::Background => "background",
            FilterLayer::DefinitionDeny => "definition: disallowedTools",
            FilterLayer::DefinitionAllow => "definition: tools",
            FilterLayer::ParentCeiling => "parent's ceiling",
            FilterLayer::Coordinator => "coordinator",
        }
    }
}

impl fmt::Display for FilterLayer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
