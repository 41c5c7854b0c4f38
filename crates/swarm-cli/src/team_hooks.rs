//! Hooks for team events of this process: created and deleted teams, joined and dead members. The
//! process that writes an event to the journal runs its hooks, so they run once.

use std::path::PathBuf;
use std::sync::Arc;

use swarm_agent::{HookClients, find_transcript};
use swarm_config::{ClaudeSettings, Environment, is_trusted, project_top};
use swarm_hooks::{AgentHooks, HookInput, Hooks, HooksParts, TeamEvents, TeamHook};
use swarm_permissions::{HookEvent, HookSettings};
use swarm_protocol::{AgentId, MemberName, SessionId};
use swarm_store::{BlockOn as _, TeamStore};
use tokio_util::sync::CancellationToken;

use crate::app::App;
use crate::commands::CommandActor;
use crate::failure::Failure;
use crate::output::Output;

/// Runs the hooks of events in order.
#[derive(Debug, Clone)]
pub(crate) struct TeamHooks {
    events: Arc<TeamEvents>,
    hooks: Hooks,
    store: Arc<dyn TeamStore>,
    root: PathBuf,
    cwd: PathBuf,
}

impl TeamHooks {
    pub(crate) fn new(app: &App) -> Result<Self, Failure> {
        Ok(Self {
            events: Arc::clone(&app.team_events),
            hooks: hooks(app)?,
            store: Arc::clone(&app.store),
            root: app.root.clone(),
            cwd: app.env.cwd.clone(),
        })
    }

    /// Runs the hooks of queued events.
    pub(crate) async fn run_waiting(&self) {
        while let Some(one) = self.events.take() {
            let subject = self.subject(&one);
            let fields = one.fields.as_object().cloned().unwrap_or_default();
            let never = CancellationToken::new();
            let fired = self.hooks.run(one.event, None, &subject, &fields, &never);
            fired.await;
        }
    }

    /// Runs hooks until `done`, then those of the remaining events.
    pub(crate) async fn keep(self, done: CancellationToken) {
        while !done.is_cancelled() {
            self.run_waiting().await;
            tokio::select! {
                () = self.events.changed() => {}
                () = done.cancelled() => {}
            }
        }
        self.run_waiting().await;
    }

    /// Returns the member's roster entry; `None` if the team was deleted.
    fn subject(&self, one: &TeamHook) -> HookInput {
        let config = self.store.team(&one.team).config().block_on().ok();
        let member = config
            .as_ref()
            .and_then(|config| config.member(&one.member));
        let lead = MemberName::lead();
        let parent = (one.member != lead).then(|| AgentId::new(lead, one.team.clone()));
        let session: Option<SessionId> =
            member.and_then(|member| member.session_id.as_ref()?.parse().ok());
        let cwd = member.map_or_else(|| self.cwd.clone(), |member| member.cwd.clone());
        let released = one.fields["released_tasks"][0].as_str();
        HookInput {
            session_id: session.map(|session| session.to_string()),
            transcript_path: session.map(|session| find_transcript(&self.root, &cwd, session)),
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
}

/// Runs the hooks of a finished command. Invalid settings do not turn a completed command into a
/// failure.
pub(crate) fn settle(app: &App) {
    if app.team_events.is_empty() {
        return;
    }
    let run = || -> Result<(), Failure> {
        let hooks = TeamHooks::new(app)?;
        crate::commands::runtime()?.block_on(hooks.run_waiting());
        Ok(())
    };
    if let Err(failure) = run() {
        let line = format!("hooks of the team were not run: {}", failure.message);
        app.out.say(&crate::output::plain(&line));
    }
}

/// Hooks that a command runs itself.
pub(crate) fn hooks(app: &App) -> Result<Hooks, Failure> {
    HookSource::of(app).hooks()
}

/// Inputs for reading the hooks when they are needed.
pub(crate) struct HookSource {
    env: Environment,
    root: PathBuf,
    pass: Vec<String>,
    limit: u64,
    trusts: bool,
    out: Output,
}

impl HookSource {
    pub(crate) fn of(app: &App) -> Self {
        Self {
            env: app.env.clone(),
            root: app.root.clone(),
            pass: app.settings.pass.clone(),
            limit: app.settings.hook_timeout.as_secs(),
            trusts: app.trusts,
            out: app.out,
        }
    }

    pub(crate) fn hooks(&self) -> Result<Hooks, Failure> {
        let cwd = &self.env.cwd;
        let claude = ClaudeSettings::load(&self.root, cwd, self.env.home().as_deref())?;
        let trusted = self.trusts || is_trusted(&self.root, cwd)?;
        let mut env = self.env.shell_with(&self.pass, &claude.env);
        let root = self.root.display().to_string();
        env.insert("CLAUDE_CONFIG_DIR".to_owned(), root);
        for name in ["SWARM_NAME", "SWARM_AGENT_ID", swarm_protocol::SPAWN_MARK] {
            if let Some(value) = self.env.get(name) {
                env.insert(name.to_owned(), value.to_owned());
            }
        }
        let out = self.out;
        Ok(Hooks::new(HooksParts {
            settings: claude.hooks.effective(trusted, self.limit),
            env,
            project: project_top(&self.root, cwd),
            notice: Arc::new(move |line| out.say(&crate::output::plain(&line))),
            services: Some(Arc::new(HookClients::default())),
            sandbox: None,
        }))
    }
}

/// Returns the hooks for this command and the members it starts.
pub(crate) fn in_force(app: &App, claude: &ClaudeSettings) -> Result<HookSettings, Failure> {
    let limit = app.settings.hook_timeout.as_secs();
    Ok(claude.hooks.effective(app.is_trusted()?, limit))
}

/// Returns the hooks of a task event, with the actor.
pub(crate) fn task_hooks(app: &App, command_actor: &CommandActor) -> Result<AgentHooks, Failure> {
    let hooks = hooks(app)?;
    let events = [HookEvent::TaskCreated, HookEvent::TaskCompleted];
    if !events.iter().any(|event| hooks.any(*event, None)) {
        return Ok(AgentHooks::default());
    }
    let one = TeamHook {
        event: HookEvent::TaskCreated,
        team: command_actor.team.clone(),
        member: command_actor.name.clone(),
        fields: serde_json::Value::Null,
    };
    let subject = TeamHooks::new(app)?.subject(&one);
    Ok(AgentHooks::new(hooks, move || subject.clone()))
}
