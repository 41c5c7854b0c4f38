//! Taking a member out of the roster.

use swarm_protocol::{MemberName, SpawnId};

use super::RemovedMember;
use crate::Result;
use crate::tasks::Returned;
use crate::team_files::TeamFiles;

impl TeamFiles<'_> {
    pub(crate) fn remove_member(
        &self,
        name: &MemberName,
        spawn: Option<&SpawnId>,
    ) -> Result<Option<RemovedMember>> {
        self.with_roster_lock(|held| {
            let mut config = self.read_config()?;
            let at = config.members.iter().position(|member| {
                let wanted = spawn.is_none_or(|spawn| member.spawn_id() == Some(*spawn));
                member.name == *name && !name.is_lead() && wanted
            });
            let Some(at) = at else {
                return Ok(None);
            };
            let member = config.members.remove(at);
            let returned = Returned {
                owner: member.id_in(self.team),
                spawn_id: member.spawn_id(),
                failed_because: None,
            };
            self.write_former(&member)?;
            self.close_requests_of(&member)?;
            // It is out of the roster before anybody can claim again, itself included.
            let released = self.return_tasks(
                &returned,
                |_tasks| Ok(()),
                || self.write_config(held, &config),
            )?;
            self.forget_undo(name)?;
            let mark = member.swarm.as_ref();
            // A death that was recorded has been reported.
            if let Some(mark) = mark.filter(|mark| mark.died_at.is_none())
                && let Err(error) = self.tell_of_stop(&config, name, mark.spawn_id, &released)
            {
                // The member has left all the same.
                tracing::warn!(team = %self.team, member = %name, %error, "lead not told that a member left");
            }
            Ok(Some(RemovedMember { member, released }))
        })
    }
}
