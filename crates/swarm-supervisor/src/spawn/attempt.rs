//! The steps of a spawn, from the reservation to the commit or rollback.

use std::sync::Arc;
use std::time::Duration;

use swarm_os::replace_passing;
use swarm_panes::{Chosen, Pane, PaneBackend, PaneCommand, PaneSpec};
use swarm_protocol::{Color, Hello, Member, SessionId};
use swarm_store::{BlockOn as _, StoreError};
use swarm_team::{SpawnOrder, check_hello, team_rules};
use swarm_worktree::Created;

use super::await_hello::{Expected, await_hello, watch_hello};
use super::{SpawnOptions, SpawnedMember, worktree};
use crate::process_list::canonical;
use crate::{LeadError, SpawnError, SupervisedTeam};

/// Name of the output file in a member's directory.
const OUTPUT: &str = "output.log";

/// A spawn in progress, after the reservation.
pub(super) struct Attempt<'a> {
    pub(super) team: SupervisedTeam<'a>,
    pub(super) options: SpawnOptions,
    pub(super) order: SpawnOrder,
    pub(super) backend: Arc<dyn PaneBackend>,
    pub(super) chosen: Chosen,
    pub(super) timeout: Duration,
    pub(super) worktree: Option<Created>,
    pub(super) conversation: Conversation,
}

/// The conversation of a new spawn.
#[derive(Debug, Default)]
pub(super) struct Conversation {
    /// Its id, unless the roster determines it.
    pub(super) session: Option<SessionId>,
    /// Whether it continues an earlier one of the name.
    pub(super) continues: bool,
    /// Where an earlier one is, if that is another machine.
    pub(super) left_on: Option<String>,
}

impl Attempt<'_> {
    /// Completes the spawn, or rolls everything back.
    pub(super) async fn carry_out(mut self) -> Result<SpawnedMember, LeadError> {
        let mut pane = None;
        match self.launch(&mut pane).await {
            Ok((pane, hello)) => Ok(SpawnedMember {
                worktree: self.worktree.clone(),
                continues: self.conversation.continues,
                conversation_left_on: self.conversation.left_on.clone(),
                agent_id: self.order.spec.identity.agent.clone(),
                spawn_id: self.order.spec.identity.spawn_id,
                color: self.order.spec.identity.color,
                pane: pane.id,
                socket: pane.socket,
                backend: self.backend.kind(),
                why: match &pane.position {
                    Some(position) => format!("{}: {position}", self.chosen.why),
                    None => self.chosen.why.clone(),
                },
                hello,
            }),
            Err(error) => {
                let was_ours = self.undo(pane.as_ref(), &error).await;
                // If another process aborted the spawn, report that as the cause.
                Err(match error {
                    LeadError::NotSpawned {
                        why: SpawnError::Interrupted,
                        ..
                    } => error,
                    error if was_ours => error,
                    error => self.called_off().unwrap_or(error),
                })
            }
        }
    }

    /// Returns the cause if the team was deleted or another process aborted the spawn; other errors
    /// are only consequences.
    fn called_off(&self) -> Option<LeadError> {
        let (name, spawn_id) = (&self.options.name, self.order.spec.identity.spawn_id);
        match self.team.files().config().block_on() {
            Err(gone @ StoreError::TeamNotFound { .. }) => Some(gone.into()),
            Ok(config) if config.member(name).and_then(Member::spawn_id) != Some(spawn_id) => {
                let team = self.team.name.clone();
                Some(StoreError::SpawnGone { team, spawn_id }.into())
            }
            _ => None,
        }
    }

    /// Adds the team's rules and its key to the order. The member is in the roster, so later rules are
    /// sent to it.
    async fn add_team_rules(&mut self) -> Result<(), LeadError> {
        let team = self.team.files();
        let permissions = &mut self.order.spec.permissions;
        permissions.verify_key = team.verify_key().await?;
        let rules = team_rules(&*team, permissions.verify_key.as_ref()).await?;
        permissions.rules.extend(rules);
        Ok(())
    }

    /// Adds to the order how commands are confined. Only now, so that the search for a sandbox has had
    /// time.
    fn add_sandbox(&mut self) {
        let config = Arc::make_mut(&mut self.order.spec.definition.config);
        config.shell.backend = (self.team.context.find_sandbox)();
    }

    async fn launch(&mut self, opened: &mut Option<Pane>) -> Result<(Pane, Hello), LeadError> {
        self.add_team_rules().await?;
        self.add_sandbox();
        let (files, name) = (self.team.files(), &self.options.name);
        let member = self.team.member(name);
        let directory = files.local_directory(name);
        let file = directory.join(SpawnOrder::file_name(self.order.spec.identity.spawn_id));
        // An order consists of strings, numbers and UTF-8 paths.
        let bytes = serde_json::to_vec(&self.order).unwrap_or_default();
        // Not synced: the child removes it immediately, and it is useless after a power failure.
        replace_passing(&file, &bytes)?;
        let mut hello = watch_hello(member);
        let (spec, command) = (self.pane_spec(), self.command());
        let pane = self.backend.launch(&spec, &command).await?;
        *opened = Some(pane.clone());
        let expected = Expected {
            output: &directory.join(OUTPUT),
            member,
            spawn_id: self.order.spec.identity.spawn_id,
            timeout: self.timeout,
            cancel: &self.options.cancel,
        };
        let said = await_hello(&*self.backend, &pane, &expected, &mut hello).await?;
        check_hello(&self.order, &pane.id, &said)
            .map_err(|mismatch| SpawnError::Mismatch(mismatch).of(name))?;
        let spawn_id = self.order.spec.identity.spawn_id;
        let (at, backend, socket) = (pane.id.clone(), self.backend.kind(), pane.socket.clone());
        files.commit_spawn(&spawn_id, at, backend, socket).await?;
        if let Some(created) = &self.worktree {
            worktree::settle(self.team.context, created).await;
        }
        Ok((pane, said))
    }

    fn pane_spec(&self) -> PaneSpec {
        PaneSpec {
            team: self.team.name.clone(),
            member: self.options.name.clone(),
            spawn_id: self.order.spec.identity.spawn_id,
            root: canonical(&self.team.context.root),
            title: self.options.name.to_string(),
            color: self
                .team
                .context
                .pane
                .color
                .then(|| self.order.spec.identity.color.unwrap_or(Color::Blue)),
        }
    }

    fn command(&self) -> PaneCommand {
        let order = &self.order;
        let (agent, spawn_id) = (&order.spec.identity.agent, order.spec.identity.spawn_id);
        let directory = self.team.files().local_directory(&agent.name);
        let context = self.team.context;
        PaneCommand {
            program: context.program.clone(),
            args: vec![
                "--agent-id".into(),
                agent.to_string().into(),
                "--spawn-id".into(),
                spawn_id.to_string().into(),
                "--root".into(),
                context.root.clone().into_os_string(),
            ],
            env: context.marks(agent, spawn_id).into_iter().collect(),
            cwd: order.spec.workspace.cwd.clone(),
            log: Some(directory.join(OUTPUT)),
        }
    }

    /// Rolls everything back. Each step runs even if others fail; failures are logged, because the
    /// caller must receive the original error. Returns `false` if the reservation no longer
    /// existed.
    async fn undo(&self, pane: Option<&Pane>, error: &LeadError) -> bool {
        let (files, name) = (self.team.files(), &self.options.name);
        let spawn_id = self.order.spec.identity.spawn_id;
        let grace = self.team.context.kill_grace;
        let ended = self.team.member(name).end_spawn(spawn_id, grace).await;
        if ended.left > 0 {
            tracing::error!(%spawn_id, left = ended.left, "processes of a failed spawn are left");
        }
        if let Some(pane) = pane
            && let Err(error) = self.backend.close(pane, &spawn_id).await
        {
            tracing::warn!(%spawn_id, %error, "pane of a failed spawn not closed");
        }
        let directory = files.local_directory(name);
        if let Err(error) = SpawnOrder::discard(&directory, spawn_id) {
            tracing::error!(%spawn_id, %error, "spawn order not removed");
        }
        if let Some(created) = &self.worktree {
            worktree::undo(self.team.context, created).await;
        }
        let reason = error.to_string();
        match files.abort_spawn(&spawn_id, &reason).await {
            Ok(was_there) => was_there,
            Err(error) => {
                tracing::error!(%spawn_id, %error, "reservation not undone");
                !matches!(error, StoreError::TeamNotFound { .. })
            }
        }
    }
}
