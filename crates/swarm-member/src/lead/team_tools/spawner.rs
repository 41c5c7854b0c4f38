//! The teammates of a lead: named Agent calls spawn them, each in a separate process.

use std::sync::Arc;

use async_trait::async_trait;
use parking_lot::Mutex;
use swarm_agent::{MemberRequest, Rights, SpawnRequest, Spawned, TeammateStatus, Teammates};
use swarm_panes::is_own_socket;
use swarm_permissions::Isolation;
use swarm_protocol::{AgentEvent, LEAD_NAME, Member, MemberName, PeerSession, PermissionMode};
use swarm_store::{Draft, Team};
use swarm_supervisor::{
    LeadError, Leadership, LeftWorktree, SpawnContext, SpawnError, SpawnOptions, SpawnTurn,
    SpawnedMember, StopOptions, WorktreeWish,
};
use swarm_team::{MemberContext, PeerLink};

use super::remote::RemoteSpawns;
use crate::peers::other_members;

/// Spawns, lists and stops teammates for the lead's model.
#[derive(Debug)]
pub(crate) struct LeadTeammates {
    spawn_context: SpawnContext,
    context: Arc<MemberContext>,
    leadership: Arc<Leadership>,
    /// The lead's permissions; a teammate's are limited to those at the time of its spawn.
    rights: Arc<Rights>,
    /// Other sessions.
    sessions: Option<Arc<PeerLink>>,
    /// The pane location last shown: the socket of swarm's own server, else the reason.
    shown: Mutex<String>,
    /// Held by the spawn that enters the roster next, or whose node is chosen next.
    turn: Arc<tokio::sync::Mutex<()>>,
    /// Spawns on other machines.
    remote: RemoteSpawns,
}

impl LeadTeammates {
    pub(crate) fn new(
        spawn_context: SpawnContext,
        context: Arc<MemberContext>,
        leadership: Arc<Leadership>,
        rights: Arc<Rights>,
        sessions: Option<Arc<PeerLink>>,
    ) -> Self {
        Self {
            spawn_context,
            context,
            leadership,
            rights,
            sessions,
            shown: Mutex::default(),
            turn: Arc::default(),
            remote: RemoteSpawns::default(),
        }
    }

    /// Returns the mode ceiling of teammates: the lead's mode. A lead in plan mode has teammates in
    /// plan mode, which continue in mode `default` once a person has approved their plans.
    fn ceiling_of_members(&self, request: &SpawnRequest) -> Result<PermissionMode, String> {
        use PermissionMode::{Default, Plan};
        let mode = self.rights.mode();
        if mode != Plan {
            return Ok(mode);
        }
        if let Some(asked) = request.member.mode.filter(|asked| *asked != Plan) {
            return Err(format!(
                "you are in plan mode, so new teammates start in plan mode too: omit mode {asked}, or leave plan mode first"
            ));
        }
        let ceiling = self.rights.ceiling();
        Ok(if ceiling.covers(Default) {
            Default
        } else {
            ceiling
        })
    }

    /// Spawns a teammate on another machine, within the lead's permissions. Later spawns wait only
    /// until its node is chosen.
    async fn spawn_on_node(
        &self,
        team: &dyn Team,
        request: &SpawnRequest,
        turn: SpawnTurn,
    ) -> Result<Spawned, String> {
        let ceiling = self.ceiling_of_members(request)?;
        // The conversation of a former member is on its machine, unlike that of a local one.
        let former = former_elsewhere(team, &request.name).await;
        let former = former.map_err(|error| error.to_string())?;
        let member = request.member.clone().or(self.former(former.as_ref()));
        let mode = member.mode.unwrap_or_else(|| self.rights.mode());
        if mode != PermissionMode::Plan && !ceiling.covers(mode) {
            let asked = mode;
            let above = SpawnError::AboveCeiling { asked, ceiling };
            return Err(above.of(&request.name).to_string());
        }
        let spawned = async {
            let placed = self.remote.place(team, request).await?;
            drop(turn);
            let context = &self.spawn_context;
            let spawned = placed.carry_out(context, team, request, &member, mode);
            spawned.await
        };
        spawned
            .await
            .inspect_err(|why| self.context.emit(AgentEvent::Notice { line: why.clone() }))
    }

    /// Returns what a former member had, with its mode if the lead may give it.
    fn former(&self, member: Option<&Member>) -> MemberRequest {
        let mut former = member.map(MemberRequest::former).unwrap_or_default();
        let mode = self.rights.mode();
        former.mode = former.mode.filter(|former| mode.covers(*former));
        former
    }

    /// Shows where members run, once for each response.
    fn show_place(&self, member: &SpawnedMember) {
        let own_socket = member
            .socket
            .as_deref()
            .filter(|socket| is_own_socket(socket));
        let (place, line) = match own_socket {
            Some(socket) => (
                socket.display().to_string(),
                format!("{}; `swarm attach` shows it", member.why),
            ),
            None => (member.why.clone(), member.why.clone()),
        };
        let mut shown = self.shown.lock();
        if *shown != place {
            *shown = place;
            self.context.emit(AgentEvent::Notice { line });
        }
    }

    /// Shows the full reason of a failed spawn: the line of the call is too short for a process's
    /// output.
    fn show_failure(&self, error: &LeadError) -> String {
        let why = error.to_string();
        self.context.emit(AgentEvent::Notice { line: why.clone() });
        why
    }
}

#[async_trait]
impl Teammates for LeadTeammates {
    async fn spawn(&self, request: SpawnRequest) -> Result<Spawned, String> {
        // Calls of one response arrive in order, so names and colours are assigned in that order.
        let turn = Some(Arc::clone(&self.turn).lock_owned().await);
        let name = request.name.clone();
        let team = self
            .context
            .team_or_found()
            .map_err(|error| error.to_string())?;
        if let Some(named) = request
            .team
            .as_deref()
            .filter(|named| !self.leadership.answers_to(named))
        {
            return Err(format!(
                "you lead team {}, not {named}: omit team_name",
                team.name()
            ));
        }
        self.remote.require_free(&name)?;
        if request.isolation == Some(Isolation::Remote) {
            return self.spawn_on_node(&*team, &request, turn).await;
        }
        // A member that died or left is restored with its settings, unless the call changes them.
        let former = self.spawn_context.team(team.name()).member(&name);
        let dead = former.namesake(false).map_err(|error| error.to_string())?;
        let mut spawn_context = self.spawn_context.clone();
        spawn_context.permissions.mode = self.rights.mode();
        spawn_context.permissions.ceiling = self.ceiling_of_members(&request)?;
        let former = self.former(dead.as_ref());
        // A member that had a worktree continues in it, or is informed that it no longer exists.
        let dead_cwd = dead
            .filter(|dead| {
                let had_tree = dead.worktree_path.is_some() && request.isolation.is_none();
                dead.cwd.is_dir() || had_tree
            })
            .map(|dead| dead.cwd);
        let prompt =
            Draft::new(LEAD_NAME, request.prompt.clone()).with_summary(request.description.clone());
        let cwd = (request.cwd.clone().or(dead_cwd))
            .unwrap_or_else(|| self.spawn_context.workspace.cwd.clone());
        let options = SpawnOptions {
            prompt: Some(prompt),
            worktree: (request.isolation == Some(Isolation::Worktree)).then(WorktreeWish::default),
            cancel: request.cancel.clone(),
            ..SpawnOptions::new(name, request.member.or(former), cwd)
        };
        // Creating a worktree can be slow; other spawns do not wait for it.
        let turn = turn.filter(|_| options.worktree.is_none());
        let spawning = spawn_context.team(team.name()).spawn_in_turn(options, turn);
        let member = spawning.await.map_err(|error| self.show_failure(&error))?;
        self.show_place(&member);
        let note = note(&member);
        Ok(Spawned {
            agent_id: member.agent_id,
            color: member.color,
            model: member.hello.model,
            mode: member.hello.mode,
            pane: member.pane,
            note,
        })
    }

    async fn list(&self) -> Result<Vec<TeammateStatus>, String> {
        other_members(&self.context).await
    }

    async fn sessions(&self) -> Vec<PeerSession> {
        match &self.sessions {
            Some(sessions) => sessions.others().await,
            None => Vec::new(),
        }
    }

    async fn stop(&self, name: &MemberName) -> Result<String, String> {
        let Some(team) = self.context.team() else {
            return Err(format!("{name} was not stopped: there is no team"));
        };
        let reason = Some("the team lead stopped you".to_owned());
        let options = StopOptions::now(reason, LEAD_NAME);
        let member = self.spawn_context.team(team.name()).member(name);
        let stopped = member.shutdown(&options).await;
        let stopped = stopped.map_err(|error| format!("{name} was not stopped: {error}"))?;
        let mut message = stopped.sentence();
        for more in [
            stopped.worktree.as_ref().map(LeftWorktree::sentence),
            stopped
                .pane_left
                .map(|why| format!("its pane is left: {why}")),
        ] {
            message.extend(more.map(|more| format!("\n{more}")));
        }
        Ok(message)
    }
}

/// Returns the dead or departed member of a name, whose conversation may be on another machine.
async fn former_elsewhere(
    team: &dyn Team,
    name: &MemberName,
) -> swarm_store::Result<Option<Member>> {
    match team.config().await?.member(name) {
        Some(member) => Ok(Some(member.clone())),
        None => team.former_member(name).await,
    }
}

/// Returns notes for the model in addition to the effective values.
fn note(member: &SpawnedMember) -> String {
    let mut lines = vec![member.why.clone()];
    if member.continues {
        let name = &member.agent_id.name;
        lines.push(format!(
            "{name} continues its earlier conversation; to start a new one, choose another name."
        ));
    }
    if let Some(host) = &member.conversation_left_on {
        let name = &member.agent_id.name;
        lines.push(format!(
            "{name} starts a new conversation: its earlier one is on {host}."
        ));
    }
    if let Some(created) = &member.worktree {
        let record = &created.record;
        let (path, origin) = (record.path.display(), record.origin());
        lines.push(format!("worktree: {path}, {origin}"));
        if let (false, Some(target)) = (record.by_hook, &record.target) {
            lines.push(format!(
                "Its commits are merged into {target} when it completes a task (unless worktree.merge is manual), or with `swarm worktree merge {}`.",
                record.slug
            ));
        }
        lines.extend(created.notices.iter().cloned());
    }
    lines.join("\n")
}
