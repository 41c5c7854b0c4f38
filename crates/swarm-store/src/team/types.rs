//! What is asked for a new team.

use std::path::PathBuf;

use swarm_protocol::{LeadProcess, TeamName};

/// A team to be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewTeam {
    /// Its name.
    pub name: TeamName,
    /// What it is for.
    pub description: Option<String>,
    /// The lead's conversation.
    pub lead_session_id: Option<String>,
    /// The process that leads; none for a team driven from the shell.
    pub lead_process: Option<LeadProcess>,
    /// The lead's working directory.
    pub cwd: PathBuf,
    /// The lead's model.
    pub lead_model: Option<String>,
    /// Who makes it, for the journal.
    pub created_by: String,
}
