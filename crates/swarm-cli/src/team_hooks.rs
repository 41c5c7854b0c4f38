//! Hooks for team events of this process: created and deleted teams, joined and dead members. The
//! process that writes an event to the journal runs its hooks, so they run once.

use std::sync::Arc;

use swarm_agent::{HookClients, find_transcript};
use swarm_config::{ClaudeSettings, Project};
use swarm_hooks::{AgentHooks, HookInput, Hooks, HooksParts, TeamHook};
use swarm_permissions::{HookEvent, HookSettings};
use swarm_protocol::{AgentId, MemberName, SessionId};
use swarm_store::BlockOn as _;
use swarm_tools::ToolContext;
use tokio_util::sync::CancellationToken;

use crate::app::App;
use crate::commands::CommandActor;
use crate::failure::Result;
use crate::output::plain;

/// Runs the hooks of events in order.
pub(crate) struct TeamHooks {
    app: App,
    hooks: Hooks,
}

impl TeamHooks {
    pub(crate) fn new(app: &App) -> Result<Self> {
        Ok(Self {
            app: app.clone(),
            hooks: hooks(app)?,
        })
    }

    /// Confines them by the sandbox of this agent, whose calls cause events too.
    #[must_use]
    pub(crate) fn in_sandbox_of(self, agent: ToolContext) -> Self {
        Self {
            hooks: self.hooks.in_sandbox_of(agent),
            ..self
        }
    }

    /// Runs the hooks of queued events.
    pub(crate) async fn run_waiting(&self) {
        while let Some(one) = self.app.team_events.take() {
            let (subject, never) = (subject(&self.app, &one), CancellationToken::new());
            let fired = self
                .hooks
                .run(one.event, None, &subject, &one.fields, &never);
            fired.await;
        }
    }

    /// Runs hooks until `done`, then those of the remaining events.
    pub(crate) async fn keep(self, done: CancellationToken) {
        while !done.is_cancelled() {
            self.run_waiting().await;
            tokio::select! {
                () = self.app.team_events.changed() => {}
                () = done.cancelled() => {}
            }
        }
        self.run_waiting().await;
    }
}

/// Returns the hook input of the affected member; without its roster entry if the team was deleted.
fn subject(app: &App, one: &TeamHook) -> HookInput {
    let config = app.store.team(&one.team).config().block_on().ok();
    let member = config
        .as_ref()
        .and_then(|config| config.member(&one.member));
    let lead = MemberName::lead();
    let parent = (one.member != lead).then(|| AgentId::new(lead, one.team.clone()));
    let session: Option<SessionId> =
        member.and_then(|member| member.session_id.as_ref()?.parse().ok());
    let cwd = member.map_or_else(|| app.env.cwd.clone(), |member| member.cwd.clone());
    let released = one.fields["released_tasks"][0].as_str();
    HookInput {
        session_id: session.map(|session| session.to_string()),
        transcript_path: session.map(|session| find_transcript(&app.root, &cwd, session)),
        permission_mode: member.and_then(swarm_protocol::Member::known_mode),
        team: Some(one.team.clone()),
        member: Some(one.member.clone()),
        agent_id: Some(one.agent_id()),
        agent_type: member.and_then(|member| member.agent_type.clone()),
        task: released.and_then(|id| id.parse().ok()),
        parent: parent.map(|id| id.to_string()),
        cwd,
    }
}

/// Runs the hooks of a finished command. Invalid settings do not turn a completed command into a
/// failure.
pub(crate) fn settle(app: &App) {
    if app.team_events.is_empty() {
        return;
    }
    let run = || -> Result<()> {
        let hooks = TeamHooks::new(app)?;
        crate::commands::runtime()?.block_on(hooks.run_waiting());
        Ok(())
    };
    if let Err(failure) = run() {
        let line = format!("hooks of the team were not run: {}", failure.message);
        app.out.say(&plain(&line));
    }
}

/// Returns the hooks that this process runs itself.
pub(crate) fn hooks(app: &App) -> Result<Hooks> {
    let cwd = &app.env.cwd;
    let project = app.project()?;
    let claude = ClaudeSettings::load_in(&project, &app.root, cwd, app.env.home().as_deref())?;
    let mut env = app.env.shell_with(&app.settings.pass, &claude.env);
    let root = app.root.display().to_string();
    env.insert("CLAUDE_CONFIG_DIR".to_owned(), root);
    for name in ["SWARM_NAME", "SWARM_AGENT_ID", swarm_protocol::SPAWN_MARK] {
        if let Some(value) = app.env.get(name) {
            env.insert(name.to_owned(), value.to_owned());
        }
    }
    let out = app.out;
    Ok(Hooks::new(HooksParts {
        settings: in_force(app, &project, &claude),
        env,
        project: project.top,
        notice: Arc::new(move |line| out.say(&plain(&line))),
        services: Some(Arc::new(HookClients::default())),
        sandbox: None,
    }))
}

/// Returns the hooks for this command and the members it starts.
pub(crate) fn in_force(app: &App, project: &Project, claude: &ClaudeSettings) -> HookSettings {
    let limit = app.settings.hook_timeout.as_secs();
    claude.hooks.effective(project.is_trusted, limit)
}

pub(crate) fn task_hooks(app: &App, command_actor: &CommandActor) -> Result<AgentHooks> {
    let hooks = hooks(app)?;
    let events = [HookEvent::TaskCreated, HookEvent::TaskCompleted];
    if !events.iter().any(|event| hooks.any(*event, None)) {
        return Ok(AgentHooks::default());
    }
    let one = TeamHook {
        event: HookEvent::TaskCreated,
        team: command_actor.team.name().clone(),
        member: command_actor.name.clone(),
        fields: serde_json::Value::Null,
    };
    let subject = subject(app, &one);
    Ok(AgentHooks::new(hooks, move || subject.clone()))
}
