//! Commands that a person types in a process of swarm, as code sees them that the commands use.

use std::path::Path;

use swarm_protocol::{MemberName, TeamName};

use crate::failure::Result;
use crate::identity::Acting;

pub(crate) struct RanCommand {
    pub(crate) done: Result<()>,
    pub(crate) text: String,
    pub(crate) names_team: bool,
}

impl RanCommand {
    /// A line that was not run, with the reason.
    pub(crate) fn refused(why: impl Into<String>) -> Self {
        Self {
            done: Ok(()),
            text: why.into(),
            names_team: false,
        }
    }
}

/// A command that others may let a node run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum OrderedCommand {
    /// `swarm spawn` of this member.
    Spawn(MemberName),
    /// A command about a member that runs already.
    Other,
}

/// The commands of swarm.
pub(crate) trait CommandLine: Send + Sync {
    /// Returns the names of the commands in the help.
    fn names(&self) -> Vec<String>;

    fn has(&self, name: &str) -> bool;

    /// Parses a command for a node, without `swarm`. Fails if it is invalid, or others may not let
    /// a node run it.
    fn ordered(&self, words: &[String]) -> Result<OrderedCommand>;

    /// Runs a line without `swarm` in a directory on behalf of `acting`, in a team unless it names
    /// another one. With `has_terminal` it may open the person's editor.
    fn run(
        &self,
        line: &str,
        cwd: &Path,
        team: &dyn Fn() -> TeamName,
        acting: &Acting,
        has_terminal: bool,
    ) -> RanCommand;
}
