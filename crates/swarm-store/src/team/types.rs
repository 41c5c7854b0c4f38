//! Parameters of a new team.

use std::path::PathBuf;

use swarm_protocol::{LeadProcess, TeamName};

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
