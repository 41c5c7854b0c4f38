//! Preparation of a spawn.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use swarm_agent::share_scratchpad;
use swarm_panes::{Chosen, PaneBackend, PanePlacement, is_own_socket, server_number};
use swarm_permissions::{AgentConfig, ChosenModel};
use swarm_protocol::{
    AgentId, BackendType, Member, PaneId, Reservation, SessionId, SpawnId, TeamConfig, TeamName,
    UnixMs,
};
use swarm_store::NewMember;
use swarm_team::{
    LeadPane, MemberIdentity, MemberPermissions, MemberRuntime, MemberSpec, SpawnOrder,
};
use swarm_worktree::Created;
use tokio::sync::OwnedMutexGuard;

use super::attempt::{Attempt, Conversation};
use super::{SpawnOptions, SpawnedMember, worktree};
use crate::process_list::canonical;
use crate::reconcile::reconcile_team;
use crate::{LeadError, SpawnContext, SpawnError, SupervisedTeam};

/// Turn of a spawn among parallel ones, which enter the roster in order. Released once the member
/// is reserved.
pub type SpawnTurn = Option<OwnedMutexGuard<()>>;

impl<'a> SupervisedTeam<'a> {
    /// Spawns a member and returns once its hello is committed. A failure restores roster, inbox,
    /// pane and processes.
    ///
    /// A started spawn runs in a separate task: if the caller stops waiting, it is cancelled and
    /// rolled back.
    ///
    /// # Errors
    /// [`LeadError`] with the reason, and the child's exit status and last lines if available.
    pub async fn spawn(self, options: SpawnOptions) -> Result<SpawnedMember, LeadError> {
        self.spawn_in_turn(options, None).await
    }

    /// Like [`Self::spawn`], for one of several spawns.
    pub async fn spawn_in_turn(
        self,
        options: SpawnOptions,
        turn: SpawnTurn,
    ) -> Result<SpawnedMember, LeadError> {
        let context = self.context;
        if !context.program.is_file() {
            return Err(LeadError::NoProgram(context.program.clone()));
        }
        // A missing worktree has a more specific error below.
        if !options.cwd.is_dir() && !self.had_worktree(&options)? {
            return Err(SpawnError::NoDirectory(options.cwd.clone()).of(&options.name));
        }
        // Checked before a running member with the same name is replaced.
        context.permissions_of(&options)?;
        context.model_of(&options)?;
        context.program_of(&options)?;
        let place = self.pick_backend(&options).await?;
        self.spawn_in(options, place, turn).await
    }

    /// Returns whether the directory is in the worktree of a former member with this name.
    fn had_worktree(self, options: &SpawnOptions) -> Result<bool, LeadError> {
        let former = self.member(&options.name).namesake(options.replace)?;
        let had = former.and_then(|former| former.worktree_path);
        Ok(had.is_some_and(|had| options.cwd.starts_with(had)))
    }

    /// Like [`Self::spawn_in_turn`], in a given backend such as a recording one, without checks of
    /// the program and the directory.
    ///
    /// # Errors
    /// As [`Self::spawn`].
    pub async fn spawn_in(
        self,
        mut options: SpawnOptions,
        place: (Arc<dyn PaneBackend>, Chosen),
        turn: SpawnTurn,
    ) -> Result<SpawnedMember, LeadError> {
        let called_off = options.cancel.child_token();
        options.cancel = called_off.clone();
        let _caller_waits = called_off.drop_guard();
        let name = options.name.clone();
        let (context, team) = (self.context.clone(), self.name.clone());
        let work = tokio::spawn(async move {
            let team = context.team(&team);
            let name = options.name.clone();
            let member = team.member(&name);
            member.await_reported_end().await?;
            let dead = member.dead_entry()?;
            if let Some(dead) = &dead {
                team.clean_up_after(dead).await;
            }
            let former = if options.fresh {
                dead.clone()
            } else {
                member.namesake(options.replace)?
            };
            let attempt = team.begin(options, former, place).await?;
            drop(turn);
            let spawned = attempt.carry_out().await?;
            if let Some(dead) = &dead {
                context.close_remaining_pane(dead).await;
            }
            Ok(spawned)
        });
        work.await.unwrap_or_else(|error| {
            tracing::error!(member = %name, %error, "a spawn failed");
            Err(SpawnError::Interrupted.of(&name))
        })
    }

    /// Replaces an existing member and reserves the roster entry.
    async fn begin(
        self,
        mut options: SpawnOptions,
        former: Option<Member>,
        (backend, chosen): (Arc<dyn PaneBackend>, Chosen),
    ) -> Result<Attempt<'a>, LeadError> {
        let context = self.context;
        let values = (
            context.permissions_of(&options)?,
            context.model_of(&options)?,
        );
        reconcile_team(&self.files()).await?;
        worktree::request_former(context, &mut options, former.as_ref()).await?;
        let replaced = if options.replace {
            self.member(&options.name).end_live_namesake().await?
        } else {
            None
        };
        let former = replaced.as_ref().or(former.as_ref());
        // A replaced or departed member is no longer in the roster, but its conversation is
        // continued.
        let conversation = self.conversation(&options, former).await;
        let session = conversation.session;
        let timeout = options.timeout.unwrap_or(context.hello_deadline);
        let timeout = timeout.saturating_add(context.wait_for_servers(&options));
        let spawn_id = SpawnId::random();
        // If the name is taken, fail before anything is created.
        let config = self.files().known_config().await?;
        let is_taken = former.is_none() && config.member(&options.name).is_some();
        let worktree = if is_taken {
            None
        } else {
            worktree::prepare(self, &mut options, spawn_id).await?
        };
        let color = replaced.as_ref().and_then(Member::known_color);
        let deadline = UnixMs(context.clock.now().0.saturating_add(millis(timeout)));
        let identity = MemberIdentity {
            spawn_id,
            agent: AgentId::new(options.name.clone(), self.name.clone()),
            color,
            session_id: session.unwrap_or_else(SessionId::random),
        };
        let spec = context.spec(&options, identity, values, worktree.as_ref(), &config);
        let reserved = match spec {
            Ok(spec) => {
                let new = spec.new_member(session, context.reservation(deadline));
                self.reserve(&options, spec, new, &*backend).await
            }
            Err(error) => Err(error),
        };
        let spec = match (reserved, &worktree) {
            (Err(error), Some(created)) => {
                worktree::undo(context, created).await;
                return Err(error);
            }
            (reserved, _) => reserved?,
        };
        Ok(Attempt {
            order: SpawnOrder {
                spec,
                pane: context.pane,
                lead_pane: lead_pane(context, &*backend),
                version: context.version.clone(),
                deadline,
            },
            team: self,
            options,
            backend,
            chosen,
            timeout,
            worktree,
            conversation,
        })
    }

    /// Returns the conversation of a new spawn. One that another machine has is not continued, and
    /// its id is not used again: each conversation has one transcript.
    async fn conversation(self, options: &SpawnOptions, former: Option<&Member>) -> Conversation {
        let left = former.filter(|_| !options.fresh);
        let Some((left, session)) = left.and_then(|left| Some((left, left.session()?))) else {
            return Conversation {
                session: options.fresh.then(SessionId::random),
                ..Conversation::default()
            };
        };
        let continues = self.context.has_conversation(left);
        let left_on = match left.spawn_id() {
            Some(spawn_id) if !continues => {
                let member = self.member(&options.name);
                member.ran_elsewhere(spawn_id).await
            }
            _ => None,
        };
        let is_new = left_on.is_some();
        Conversation {
            session: Some(if is_new { SessionId::random() } else { session }),
            continues,
            left_on,
        }
    }

    /// Reserves the roster entry of a member, and returns the member with its colour and with the
    /// conversation of a dead member of its name.
    async fn reserve(
        self,
        options: &SpawnOptions,
        mut spec: MemberSpec,
        mut new: NewMember,
        backend: &dyn PaneBackend,
    ) -> Result<MemberSpec, LeadError> {
        new.prompt.clone_from(&options.prompt);
        new.entry.backend_type = Some(backend.kind());
        new.socket = backend.socket().map(Path::to_owned);
        let member = swarm_team::reserve(&self.files(), new).await?;
        let identity = &mut spec.identity;
        identity.color = member.known_color();
        identity.session_id = member.session().unwrap_or(identity.session_id);
        Ok(spec)
    }

    async fn pick_backend(
        self,
        options: &SpawnOptions,
    ) -> Result<(Arc<dyn PaneBackend>, Chosen), LeadError> {
        let request = options
            .backend
            .clone()
            .unwrap_or_else(|| self.context.backend.clone());
        let mut facts = self.context.terminal.clone();
        facts.server_number = server_number(&canonical(&self.context.root), self.name);
        // All members of a team use the server of the first one.
        let config = self.files().known_config().await?;
        let sockets = config
            .teammates()
            .filter_map(|member| member.swarm.as_ref()?.socket.clone());
        let here = facts
            .tmux_env
            .as_deref()
            .and_then(|env| env.split(',').next())
            .map(PathBuf::from);
        facts.own_socket = sockets
            .filter(|socket| Some(socket) != here.as_ref() && is_own_socket(socket))
            .find(|socket| socket.exists());
        Ok(swarm_panes::choose(&request, &facts).await?)
    }
}

impl SpawnContext {
    /// Returns the member with everything that is known before it is in the roster.
    fn spec(
        &self,
        options: &SpawnOptions,
        identity: MemberIdentity,
        (permissions, model): (MemberPermissions, ChosenModel),
        worktree: Option<&Created>,
        config: &TeamConfig,
    ) -> Result<MemberSpec, LeadError> {
        let agent_config = self.shared_config(&identity.agent.team, config)?;
        let definition = self.ordered_definition(options, agent_config, worktree)?;
        let of = (&identity.agent, identity.spawn_id);
        Ok(MemberSpec {
            runtime: MemberRuntime {
                // It depends on the directory, which is known only now.
                program: self.program_of(options)?,
                model: model.written,
                model_source: Some(model.source),
                provider: self.runtime.provider.clone(),
                pace: self.runtime.pace,
            },
            permissions: MemberPermissions {
                anchors: self.anchors_of(&options.cwd, worktree),
                ..permissions
            },
            workspace: self.workspace_of(options, of, worktree),
            limits: self.limits,
            identity: MemberIdentity {
                color: (identity.color).or_else(|| definition.own.as_ref()?.color),
                ..identity
            },
            definition,
        })
    }

    fn reservation(&self, deadline: UnixMs) -> Reservation {
        let process = &self.process;
        Reservation::new(process.pid, &process.start, deadline).in_space(&process.pid_space)
    }

    /// Returns the configuration of a new member with the scratchpad of its team: that of the session
    /// that leads it, or that of a team without a lead process.
    fn shared_config(
        &self,
        team: &TeamName,
        config: &TeamConfig,
    ) -> Result<AgentConfig, LeadError> {
        let mut agent_config = (*self.definition.config).clone();
        if agent_config.scratchpad.is_none() {
            let session = config.lead_session_id.as_deref();
            let session = session.and_then(|id| id.parse::<SessionId>().ok());
            let name = session.map_or_else(|| team.to_string(), |id| id.to_string());
            share_scratchpad(&mut agent_config, &self.root, &name)?;
        }
        Ok(agent_config)
    }

    /// Returns the additional time a child needs to start MCP servers before it knows its tools.
    fn wait_for_servers(&self, options: &SpawnOptions) -> Duration {
        let agent_config = &self.definition.config;
        let agent_type = options.member.agent_type.as_deref();
        let definition = agent_type.and_then(|name| agent_config.agents.find(name));
        let uses = definition.map_or(&[][..], |definition| &definition.mcp_servers);
        if agent_config.mcp.requires_wait(uses) {
            Duration::from_millis(agent_config.mcp.bounds.start_ms)
        } else {
            Duration::ZERO
        }
    }
}

/// Returns the lead's pane in the user's tmux, unless a process of the lead follows its size.
fn lead_pane(context: &SpawnContext, backend: &dyn PaneBackend) -> Option<LeadPane> {
    let terminal = &context.terminal;
    // Only processes of leads can run teammates in-process.
    let has_process = terminal.in_process.is_some();
    let in_users_tmux = backend.kind() == BackendType::Tmux
        && backend
            .socket()
            .is_some_and(|socket| !is_own_socket(socket));
    let pane = terminal.tmux_pane.as_deref();
    let pane = pane.filter(|_| in_users_tmux && !has_process)?;
    Some(LeadPane {
        id: PaneId::new(pane),
        keeps_teammates: context.backend.place == PanePlacement::Split,
    })
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
