//! The sequence of a spawn.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use swarm_fs::replace_alone;
use swarm_panes::{Chosen, Pane, PaneBackend, PaneCommand, PaneSpec};
use swarm_protocol::{Color, Hello, Member, Reservation, SessionId, SpawnId, TeamName, UnixMs};
use swarm_store::NewMember;
use swarm_team::{SpawnOrder, check_hello, reconcile};
use swarm_tools::processes;

use super::await_hello::{Expected, await_hello, watch_hello};
use super::order::{self, Values};
use super::{SpawnOptions, SpawnedMember};
use crate::stop::end_live_namesake;
use crate::{Deployment, LeadError};

/// Spawns a member and returns once its hello is committed. On any failure roster, inbox, pane and process are as
/// if nothing had been asked.
///
/// # Errors
/// [`LeadError`] that says why, with the child's exit status and last lines where it had any.
pub async fn spawn(
    deployment: &Deployment,
    team: &TeamName,
    options: SpawnOptions,
) -> Result<SpawnedMember, LeadError> {
    if !deployment.program.is_file() {
        return Err(LeadError::NoProgram(deployment.program.clone()));
    }
    if !options.cwd.is_dir() {
        return Err(LeadError::NoFolder {
            member: options.name.clone(),
            cwd: options.cwd.clone(),
        });
    }
    let mode = order::mode(deployment, &options)?;
    let model = options
        .model
        .clone()
        .unwrap_or_else(|| deployment.model.clone());
    reconcile(&*deployment.store, team)?;
    if options.replace {
        end_live_namesake(deployment, team, &options.name).await?;
    }
    let (backend, chosen) = pick_backend(deployment, team, &options)?;
    let timeout = options.timeout.unwrap_or(deployment.hello_deadline);
    let spawn_id = SpawnId::random();
    let deadline = UnixMs(deployment.clock.now().0 + millis(timeout));
    let member = deployment.store.reserve(
        team,
        NewMember {
            name: options.name.clone(),
            spawn_id,
            reservation: Reservation {
                spawner_pid: deployment.process.pid,
                spawner_start: deployment.process.start.clone(),
                deadline,
            },
            agent_type: options.agent_type.clone(),
            model: Some(model.clone()),
            mode: Some(mode),
            cwd: options.cwd.clone(),
            worktree_path: None,
            plan: false,
            prompt: options.prompt.clone(),
            backend: None,
            session_id: options.fresh.then(SessionId::random),
            color: None,
        },
    )?;
    let session_id = member.session().unwrap_or_else(SessionId::random);
    let values = Values {
        spawn_id,
        model,
        mode,
        session_id,
        deadline,
    };
    let order = order::build(deployment, team, &options, &member, values);
    let attempt = Attempt {
        deployment,
        team,
        options: &options,
        order,
        backend,
        chosen,
        timeout,
    };
    attempt.carry_out(&member).await
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

fn pick_backend(
    deployment: &Deployment,
    team: &TeamName,
    options: &SpawnOptions,
) -> Result<(Arc<dyn PaneBackend>, Chosen), LeadError> {
    let request = options
        .backend
        .clone()
        .unwrap_or_else(|| deployment.backend.clone());
    let mut facts = deployment.terminal.clone();
    // Further members of a team join the server that the first one was given.
    let config = deployment.store.config(team)?;
    let sockets = config
        .teammates()
        .filter_map(|member| member.swarm.as_ref()?.socket.clone());
    let here = facts
        .tmux_env
        .as_deref()
        .and_then(|env| env.split(',').next())
        .map(PathBuf::from);
    facts.own_socket = sockets
        .filter(|socket| Some(socket) != here.as_ref())
        .find(|socket| socket.exists());
    Ok(swarm_panes::choose(&request, &facts)?)
}

/// A spawn under way, after the reservation.
struct Attempt<'a> {
    deployment: &'a Deployment,
    team: &'a TeamName,
    options: &'a SpawnOptions,
    order: SpawnOrder,
    backend: Arc<dyn PaneBackend>,
    chosen: Chosen,
    timeout: Duration,
}

impl Attempt<'_> {
    async fn carry_out(self, member: &Member) -> Result<SpawnedMember, LeadError> {
        let mut pane = None;
        match self.launch(&mut pane).await {
            Ok((pane, hello)) => Ok(SpawnedMember {
                agent_id: self.order.agent.clone(),
                spawn_id: self.order.spawn_id,
                color: member.known_color(),
                pane: pane.id,
                socket: pane.socket,
                backend: self.backend.kind(),
                why: self.chosen.why.clone(),
                hello,
            }),
            Err(error) => {
                self.undo(pane.as_ref(), &error).await;
                Err(error)
            }
        }
    }

    async fn launch(&self, opened: &mut Option<Pane>) -> Result<(Pane, Hello), LeadError> {
        let (store, name) = (&self.deployment.store, &self.options.name);
        let folder = store.member_dir(self.team, name);
        let file = folder.join(SpawnOrder::file_name(self.order.spawn_id));
        // An order is strings, numbers and paths of text.
        let bytes = serde_json::to_vec(&self.order).unwrap_or_default();
        replace_alone(&file, &bytes)?;
        let mut hello = watch_hello(self.deployment, self.team, name);
        let pane = self.backend.open(&self.pane_spec()).await?;
        *opened = Some(pane.clone());
        self.backend.start(&pane, &self.command()).await?;
        let expected = Expected {
            team: self.team,
            name,
            spawn_id: self.order.spawn_id,
            timeout: self.timeout,
            cancel: &self.options.cancel,
        };
        let said = await_hello(
            self.deployment,
            &*self.backend,
            &pane,
            &expected,
            &mut hello,
        )
        .await?;
        check_hello(&self.order, &said).map_err(|mismatch| LeadError::Mismatch {
            member: name.clone(),
            mismatch,
        })?;
        let pane = Pane {
            id: said.pane.clone().unwrap_or(pane.id),
            ..pane
        };
        store.commit_spawn(
            self.team,
            &self.order.spawn_id,
            pane.id.clone(),
            self.backend.kind(),
            pane.socket.clone(),
        )?;
        Ok((pane, said))
    }

    fn pane_spec(&self) -> PaneSpec {
        PaneSpec {
            team: self.team.clone(),
            member: self.options.name.clone(),
            spawn_id: self.order.spawn_id,
            title: self.options.name.to_string(),
            color: self.order.color.unwrap_or(Color::Blue),
        }
    }

    fn command(&self) -> PaneCommand {
        let order = &self.order;
        let member_dir = self
            .deployment
            .store
            .member_dir(self.team, &order.agent.name);
        let marks = order::marks(self.deployment, &order.agent, order.spawn_id);
        PaneCommand {
            program: self.deployment.program.clone(),
            args: vec![
                "--agent-id".into(),
                order.agent.to_string().into(),
                "--spawn-id".into(),
                order.spawn_id.to_string().into(),
                "--root".into(),
                self.deployment.root.clone().into_os_string(),
            ],
            env: marks.into_iter().collect(),
            cwd: order.cwd.clone(),
            log: Some(member_dir.join("output.log")),
        }
    }

    /// Takes everything back. Each step is tried whatever became of the others; what cannot be undone is logged,
    /// since the error that began it is what the caller must hear.
    async fn undo(&self, pane: Option<&Pane>, error: &LeadError) {
        let (store, spawn_id) = (&self.deployment.store, self.order.spawn_id);
        let ended = processes::end_marked(
            "SWARM_SPAWN_ID",
            &spawn_id.to_string(),
            self.deployment.kill_grace,
        )
        .await;
        if ended.left > 0 {
            tracing::error!(%spawn_id, left = ended.left, "processes of a failed spawn are left");
        }
        if let Some(pane) = pane
            && let Err(error) = self.backend.close(pane, &spawn_id).await
        {
            tracing::warn!(%spawn_id, %error, "pane of a failed spawn not closed");
        }
        let folder = store.member_dir(self.team, &self.options.name);
        match std::fs::remove_file(folder.join(SpawnOrder::file_name(spawn_id))) {
            Ok(()) => {}
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => tracing::error!(%spawn_id, %error, "spawn order not removed"),
        }
        let reason = error.to_string();
        let reason = reason.lines().next().unwrap_or_default();
        if let Err(error) = store.abort_spawn(self.team, &spawn_id, reason) {
            tracing::error!(%spawn_id, %error, "reservation not undone");
        }
    }
}
