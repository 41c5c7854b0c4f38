//! Making a reserved member a full one.

use std::path::PathBuf;

use swarm_fs::PendingSync;
use swarm_protocol::{BackendType, Event, Hello, Member, PaneId, SpawnId, SpawnTerms};

use super::config::position_of;
use crate::team_files::TeamFiles;
use crate::{Result, StoreError};

impl TeamFiles<'_> {
    pub(crate) fn commit_spawn(
        &self,
        spawn: SpawnId,
        pane: PaneId,
        backend: BackendType,
        socket: Option<PathBuf>,
    ) -> Result<Member> {
        let (member, pending) = self.with_roster_lock(|held| {
            let mut config = self.read_config()?;
            let Some(at) = position_of(&config, spawn) else {
                return Err(StoreError::SpawnGone {
                    team: self.team.clone(),
                    spawn_id: spawn,
                });
            };
            let member = &mut config.members[at];
            let reserved = member.swarm.as_mut().filter(|m| m.reservation.is_some());
            let Some(mark) = reserved else {
                return Ok((member.clone(), PendingSync::default()));
            };
            mark.reservation = None;
            mark.socket = socket;
            member.tmux_pane_id = pane;
            member.backend_type = Some(backend);
            let hello = self.hello(&member.name)?;
            let hello = hello.filter(|hello| hello.spawn_id == spawn);
            if let Some(hello) = &hello {
                member.session_id = Some(hello.session_id.to_string());
            }
            let member = member.clone();
            let placed = self.place_config(held, &config)?;
            // Without its reservation in the roster, how to undo it is of no use and does no harm.
            if let Err(error) = self.forget_undo(&member.name) {
                tracing::warn!(team = %self.team, member = %member.name, %error, "left behind");
            }
            let entered = self.enter_done([Event::SpawnCommitted {
                member: member.name.clone(),
                spawn_id: spawn,
                pid: hello.as_ref().map_or(0, |hello| hello.pid),
                terms: Box::new(terms(&member, hello)),
            }]);
            Ok((member, placed.and(entered)))
        })?;
        // Without the lock: the child sees its commit already, and others who spawn wait for the disk together.
        pending.sync()?;
        Ok(member)
    }
}

/// What the member said of itself, and for the rest what its place in the roster says.
fn terms(member: &Member, hello: Option<Hello>) -> SpawnTerms {
    let reserved = SpawnTerms {
        agent_type: member.agent_type.clone(),
        model: member.model.clone(),
        mode: member.mode.clone(),
        cwd: Some(member.cwd.clone()),
        worktree: member.worktree_path.clone(),
        backend: member.backend_type.clone(),
        pane: Some(member.tmux_pane_id.clone()),
    };
    let Some(hello) = hello else { return reserved };
    SpawnTerms {
        model: Some(hello.model),
        mode: Some(hello.mode.to_string()),
        cwd: Some(hello.cwd),
        worktree: hello.worktree.map(|worktree| worktree.toplevel),
        ..reserved
    }
}
