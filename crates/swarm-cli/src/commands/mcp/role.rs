//! For whom the client acts.

use swarm_protocol::MemberName;

/// The client's place in the team.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ClientRole {
    /// It leads teams.
    Lead,
    /// It is a member that swarm runs. Its mail arrives as prompts, and the member is recognized by
    /// its processes.
    Member,
    /// It is a member that joined by itself and reads its inbox with these tools.
    External(MemberName),
}

impl ClientRole {
    /// Returns the owner of the inbox that the client reads.
    pub(super) fn inbox(&self) -> Option<MemberName> {
        match self {
            Self::Lead => Some(MemberName::lead()),
            Self::Member => None,
            Self::External(name) => Some(name.clone()),
        }
    }

    /// Returns the name that a command needs as an option.
    pub(super) fn name(&self) -> Option<&MemberName> {
        match self {
            Self::Lead | Self::Member => None,
            Self::External(name) => Some(name),
        }
    }
}
