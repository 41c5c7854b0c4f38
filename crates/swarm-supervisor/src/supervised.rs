//! A team or a member that is started, stopped or cleaned up after in a context.

use std::sync::Arc;

use swarm_os::Liveness;
use swarm_protocol::{MemberName, TeamName};
use swarm_store::{BlockOn as _, StoreError, Team};

use crate::SpawnContext;

/// A team whose members are started and stopped in a context.
#[derive(Debug, Clone, Copy)]
pub struct SupervisedTeam<'a> {
    /// The context.
    pub context: &'a SpawnContext,
    /// Name of the team.
    pub name: &'a TeamName,
}

/// A member of such a team, whether or not it is in the roster.
#[derive(Debug, Clone, Copy)]
pub struct SupervisedMember<'a> {
    /// Its team.
    pub team: SupervisedTeam<'a>,
    /// Name of the member.
    pub name: &'a MemberName,
}

impl SpawnContext {
    /// Returns the team of this name, to start and stop its members.
    pub fn team<'a>(&'a self, name: &'a TeamName) -> SupervisedTeam<'a> {
        SupervisedTeam {
            context: self,
            name,
        }
    }
}

impl<'a> SupervisedTeam<'a> {
    /// Returns the member of this name.
    pub fn member(self, name: &'a MemberName) -> SupervisedMember<'a> {
        SupervisedMember { team: self, name }
    }

    /// Returns the team's files.
    pub fn files(self) -> Arc<dyn Team> {
        self.context.store.team(self.name)
    }
}

impl SupervisedMember<'_> {
    /// Returns the files of its team.
    pub(crate) fn files(self) -> Arc<dyn Team> {
        self.team.files()
    }

    /// Returns whether it runs.
    pub(crate) fn liveness(self) -> Result<Liveness, StoreError> {
        member_liveness(&*self.files(), self.name)
    }
}

/// Returns whether a member runs. A member that is not in the roster any more has stopped: several
/// processes may remove the same one, so a name that was read before can be gone.
pub(crate) fn member_liveness(team: &dyn Team, name: &MemberName) -> Result<Liveness, StoreError> {
    match team.liveness(name).block_on() {
        Err(StoreError::MemberNotFound { .. }) => Ok(Liveness::Dead),
        found => found,
    }
}
