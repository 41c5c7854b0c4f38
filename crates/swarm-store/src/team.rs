//! New, damaged and left-over teams.

use std::path::PathBuf;

use swarm_protocol::{AgentId, LeadProcess, Member, MemberName, TeamConfig, TeamName, UnixMs};

use crate::StoreError;

/// A team to be created.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewTeam {
    /// Name of the team.
    pub name: TeamName,
    /// Purpose of the team.
    pub description: Option<String>,
    /// ID of the lead's conversation.
    pub lead_session_id: Option<String>,
    /// The lead process; `None` for a team led from the shell.
    pub lead_process: Option<LeadProcess>,
    /// Working directory of the lead.
    pub cwd: PathBuf,
    /// Model of the lead.
    pub lead_model: Option<String>,
    /// Creator of the team, for the journal.
    pub created_by: String,
}

impl NewTeam {
    /// Returns a team without a description, a lead process and a conversation.
    pub fn new(name: TeamName, cwd: impl Into<PathBuf>, created_by: impl Into<String>) -> Self {
        Self {
            name,
            description: None,
            lead_session_id: None,
            lead_process: None,
            cwd: cwd.into(),
            lead_model: None,
            created_by: created_by.into(),
        }
    }

    /// Returns the roster of the new team, with its lead as the only member.
    pub(crate) fn roster(&self, now: UnixMs) -> TeamConfig {
        let mut lead = Member::lead(&self.name, self.cwd.clone(), now);
        lead.model.clone_from(&self.lead_model);
        TeamConfig {
            name: self.name.clone(),
            description: self.description.clone(),
            created_at: now,
            lead_agent_id: AgentId::new(MemberName::lead(), self.name.clone()).to_string(),
            lead_session_id: self.lead_session_id.clone(),
            lead_process: self.lead_process.clone(),
            members: vec![lead],
            rest: serde_json::Map::new(),
        }
    }
}

/// Damage of a team whose roster or one of whose directories is unusable.
#[derive(Debug)]
pub struct TeamDamage {
    /// The error that operations on the team return.
    pub why: StoreError,
    /// Whether members may be running: a life lock is held, or that is unknown.
    pub may_live: bool,
}

/// A leftover of a killed process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leftover {
    /// Its path.
    pub path: PathBuf,
    /// Description, as a noun phrase.
    pub what: &'static str,
}

/// A file with invalid content. It is left unchanged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BrokenFile {
    /// Path of the file.
    pub path: PathBuf,
    /// The parse error.
    pub reason: String,
}

impl From<BrokenFile> for StoreError {
    fn from(broken: BrokenFile) -> Self {
        Self::Damaged {
            path: broken.path,
            reason: broken.reason,
        }
    }
}
