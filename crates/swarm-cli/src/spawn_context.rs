//! Creates the context for starting members from settings, environment and flags.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use swarm_agent::MemberRequest;
use swarm_config::{
    ClaudeSettings, Environment, FoundAgents, HookDirectories, Settings, default_model,
    fallback_model, model_names, permitted_model, worktree_records,
};
use swarm_hooks::Hooks;
use swarm_os::DirectoryWatcher;
use swarm_panes::{BACKEND_WORDS, BackendRequest, TerminalFacts, backend_kind, is_automatic};
use swarm_permissions::RequestSettings;
use swarm_protocol::{
    AnswerInPlace, BackendType, Member, PermissionMode, SpawnId, with_conjunction,
};
use swarm_supervisor::SpawnContext;
use swarm_team::{
    MemberDefinition, MemberLimits, MemberPermissions, MemberRuntime, MemberWorkspace, PaneSettings,
};
use swarm_worktree::{Git, WorktreeSettings, Worktrees};

use crate::agent_config;
use crate::api_key_helper::add_helper;
use crate::app::App;
use crate::failure::{Failure, Result};
use crate::identity::Acting;
use crate::in_process_teammate::in_process_host;
use crate::occupants::occupants;
use crate::own_process::{VERSION, identity};
use crate::request_flags::RequestFlags;
use crate::runtimes::resolve_runtime;
use crate::shell_guards::search_sandbox;
use crate::team_hooks::hooks;

/// Flags that change the context.
#[derive(Debug, Default)]
pub(crate) struct Choices {
    pub(crate) model: Option<String>,
    pub(crate) mode: Option<PermissionMode>,
    pub(crate) backend: Option<String>,
    pub(crate) requests: RequestFlags,
    /// Whether this process leads the team.
    pub(crate) in_run: bool,
    /// Whether a person talks to the lead, as in `swarm lead`.
    pub(crate) is_interactive: bool,
}

impl Choices {
    /// Whether the run is unattended: `agents.fork = "auto"` is then off, because no one sees the
    /// cost of forks.
    fn is_unattended(&self) -> bool {
        self.in_run && !self.is_interactive
    }
}

/// The context for starting members.
#[derive(Debug)]
pub(crate) struct Prepared {
    pub(crate) spawn_context: SpawnContext,
    /// The permission rules of the actor and other values of `settings.json` files.
    pub(crate) claude: ClaudeSettings,
    pub(crate) definitions: FoundAgents,
    /// All settings, including `settings.json`; they determine what a member may do.
    settings: Settings,
}

impl Prepared {
    /// Allows the next member a mode named by a person, within the machine's policy. A member's
    /// ceiling is its own mode, or the default mode for a member in plan mode.
    pub(crate) fn let_have(&mut self, mode: PermissionMode) -> Result<()> {
        self.settings.permit("permissions.mode", mode.name())?;
        if mode != PermissionMode::Plan {
            self.spawn_context.permissions.ceiling = mode;
        }
        Ok(())
    }

    /// Returns the full name of a model for a member.
    pub(crate) fn model(&self, name: &str) -> Result<String> {
        Ok(permitted_model(
            name,
            &self.settings,
            &self.spawn_context.workspace.cwd,
        )?)
    }

    /// Returns the spawn context for a member that is restarted from the roster. Other programs can
    /// write the roster, so the machine's policy applies as if a person had named the values.
    pub(crate) fn for_return_of(&self, member: &Member) -> Result<SpawnContext> {
        let mode = MemberRequest::former(member)
            .mode
            .unwrap_or(self.spawn_context.permissions.mode);
        let allowed = self.settings.permit("permissions.mode", mode.name());
        allowed.map_err(|error| Failure {
            message: format!("{} is not started: {error}", member.name),
            ..error.into()
        })?;
        let mut spawn_context = self.spawn_context.clone();
        if mode != PermissionMode::Plan {
            spawn_context.permissions.ceiling = mode;
        }
        Ok(spawn_context)
    }
}

/// Creates the spawn context of this process, with its settings, for `acting`.
pub(crate) fn spawn_context(app: &App, acting: &Acting, choices: &Choices) -> Result<Prepared> {
    let find_sandbox = search_sandbox(app)?;
    let home = app.env.home();
    let project = app.project()?;
    let claude = ClaudeSettings::load_in(&project, &app.root, &app.env.cwd, home.as_deref())?;
    let settings = (*app.settings).clone().with(claude.given(&app.env))?;
    let mode = choices.mode.unwrap_or(settings.mode);
    settings.permit("permissions.mode", mode.name())?;
    // After plan approval the mode changes to `default`, if the machine's policy allows that.
    let after_plan = PermissionMode::Default;
    let ceiling = match mode {
        PermissionMode::Plan
            if settings
                .permit("permissions.mode", after_plan.name())
                .is_ok() =>
        {
            after_plan
        }
        mode => mode,
    };
    let cwd = app.env.cwd.clone();
    let model = match &choices.model {
        Some(named) => permitted_model(named, &settings, &cwd)?,
        None => default_model(&settings, &cwd)?,
    };
    let program = teammate_program(&app.env)?;
    let (mut agent_config, definitions) =
        agent_config::load(app, &project, &claude, &program, choices.in_run)?;
    agent_config.limits = settings.agent_limits(cores(), choices.is_unattended());
    // Members that a command starts are led by a person at a shell; for a run, see `wait_for_answers`.
    agent_config.shell.asks_for_hosts = !choices.in_run;
    if choices.in_run {
        // For the lead's own commands.
        agent_config.shell.backend = find_sandbox();
    }
    agent_config.budgets = settings.default_budgets();
    agent_config.requests = RequestSettings {
        fallback: fallback_model(&settings, &cwd)?,
        ..choices.requests.over(&settings)?
    };
    agent_config.models = model_names(&settings, &cwd, app.env.get("CLAUDE_CODE_SUBAGENT_MODEL"))?;
    let asked = settings.clone();
    let mut provider = app.env.provider_with(&claude.env);
    add_helper(
        &mut provider,
        claude.api_key_helper(project.is_trusted),
        claude.variable(&app.env, "CLAUDE_CODE_API_KEY_HELPER_TTL_MS"),
    );
    let mut stopping = for_stopping(app);
    if choices.in_run {
        let watcher = Arc::clone(&stopping.watcher);
        stopping.terminal.in_process = Some(in_process_host(&app.env, watcher));
    }
    let spawn_context = SpawnContext {
        program,
        backend: backend(app, choices.backend.as_deref(), choices.in_run)?,
        resolve_model: Arc::new(move |name| {
            permitted_model(name, &asked, &cwd).map_err(|error| error.to_string())
        }),
        resolve_runtime: resolve_runtime(app),
        find_sandbox,
        runtime: MemberRuntime {
            model,
            provider,
            ..stopping.runtime
        },
        definition: MemberDefinition {
            config: Arc::new(agent_config),
            ..stopping.definition
        },
        permissions: MemberPermissions {
            rules: claude.rules.clone(),
            answer_in_place: answer_in_place(app, acting),
            ..MemberPermissions::new(mode, ceiling)
        },
        workspace: MemberWorkspace {
            env: app.env.shell_with(&settings.pass, &claude.env),
            ..stopping.workspace
        },
        ..stopping
    };
    Ok(Prepared {
        spawn_context,
        claude,
        definitions,
        settings,
    })
}

/// Returns whether members' requests can be answered in their panes: not if an agent starts them, which
/// could type there.
fn answer_in_place(app: &App, acting: &Acting) -> AnswerInPlace {
    match acting {
        Acting::Person => app.settings.answer_in_place,
        _ => AnswerInPlace::Never,
    }
}

/// Creates the context for stopping members. It does not depend on settings files, so that members
/// can be stopped with invalid settings; it cannot start members.
pub(crate) fn for_stopping(app: &App) -> SpawnContext {
    SpawnContext {
        root: app.root.clone(),
        store: Arc::clone(&app.store),
        clock: Arc::clone(&app.clock),
        watcher: Arc::new(DirectoryWatcher::new()),
        program: PathBuf::new(),
        terminal: terminal(app),
        backend: BackendRequest::default(),
        resolve_model: Arc::new(|name| {
            Err(format!(
                "members cannot be started with model `{name}` here"
            ))
        }),
        resolve_runtime: Arc::new(|program, _cwd| {
            Err(format!(
                "members cannot be started with runtime {program} here"
            ))
        }),
        find_sandbox: Arc::new(|| None),
        worktrees: worktrees(app),
        hello_deadline: app.settings.hello_timeout,
        kill_grace: app.settings.kill_grace,
        version: VERSION.to_owned(),
        process: identity(),
        spawn_id: SpawnId::random(),
        runtime: MemberRuntime {
            provider: app.env.provider_with(&BTreeMap::new()),
            pace: app.settings.pace,
            ..MemberRuntime::new("")
        },
        definition: MemberDefinition::default(),
        permissions: MemberPermissions::new(PermissionMode::Plan, PermissionMode::Plan),
        workspace: MemberWorkspace {
            cwd: app.env.cwd.clone(),
            env: app.env.shell(&app.settings.pass),
            ..MemberWorkspace::default()
        },
        limits: limits(app),
        pane: PaneSettings {
            color: app.env.color(true),
            bell: app.settings.notify_bell,
        },
    }
}

/// Selects how worktrees are created: with git or the user's hooks.
pub(crate) fn worktrees(app: &App) -> Worktrees {
    let settings = &app.settings;
    let location = settings.worktree_location.as_str();
    let location = match location.strip_prefix("~/") {
        _ if location == swarm_os::WORKTREES_DIRECTORY => None,
        Some(below) => app.env.home().map(|home| home.join(below)),
        None => Some(PathBuf::from(location)),
    };
    let git = Git::new("git", app.env.for_git());
    let of = app.clone();
    let maker = HookDirectories::new(move || {
        hooks(&of).unwrap_or_else(|failure| {
            // Commands that start agents read the same files and report the error.
            tracing::warn!(failure.message, "hooks not read");
            Hooks::default()
        })
    });
    let worktrees = Worktrees::new(
        git,
        WorktreeSettings {
            location,
            uncommitted: settings.worktree_uncommitted,
            dependencies: settings.worktree_dependencies,
            dependency_directories: settings.worktree_dependency_directories.clone(),
            sparse_paths: settings.worktree_sparse_paths.clone(),
            merge: settings.worktree_merge,
            merge_wait: settings.worktree_merge_wait,
        },
        worktree_records(&app.root),
    );
    worktrees
        .with_maker(Arc::new(maker))
        .with_occupants(occupants(Arc::clone(&app.store)))
}

/// Returns the number of cores available to this process.
fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

fn limits(app: &App) -> MemberLimits {
    let millis =
        |duration: std::time::Duration| u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
    MemberLimits {
        max_unread: app.settings.max_unread,
        max_message_bytes: app.settings.max_message_bytes,
        max_requests: app.settings.max_requests,
        permission_timeout_ms: millis(app.settings.permission_timeout),
        shutdown_grace_ms: millis(app.settings.shutdown_grace),
        answer_timeout_ms: millis(app.settings.answer_timeout),
        remind: app.settings.remind,
        on_lost: app.settings.on_lost,
    }
}

/// Returns the help of `--backend`.
pub(crate) fn backend_help(what: &str, of_lead: bool) -> String {
    let words = backend_words(of_lead);
    format!("{what}: {words} [default: setting `spawn.backend`]")
}

/// Lists the values of `--backend`. Only a lead can have members in its own process.
fn backend_words(of_lead: bool) -> String {
    let in_process = BackendType::InProcess;
    let words = BACKEND_WORDS.iter().copied();
    let words: Vec<&str> = words
        .filter(|word| of_lead || *word != in_process.name())
        .collect();
    with_conjunction(&words, "or")
}

/// Parses a backend from a flag or the settings, for members of a lead (`of_lead`) or of a command.
pub(crate) fn backend(app: &App, asked: Option<&str>, of_lead: bool) -> Result<BackendRequest> {
    let word = asked.unwrap_or(&app.settings.backend);
    if !BACKEND_WORDS.contains(&word) {
        let message = format!("`{}` is not a backend", word.escape_debug());
        return Err(Failure::usage(message).with_hint(format!("use {}", backend_words(of_lead))));
    }
    app.settings.permit("spawn.backend", word)?;
    let Ok(mut request) = word.parse::<BackendRequest>();
    request.place = app.settings.place.parse().map_err(Failure::usage)?;
    Ok(request)
}

/// Returns the backend of a member that is restarted without a lead, if it must be kept: `auto`
/// would not select it, or it is headless.
pub(crate) fn former_backend(app: &App, dead: &Member) -> Result<Option<BackendRequest>> {
    // Only a lead has members in its own process.
    let kind = dead.backend_type.as_ref();
    let kind = kind.filter(|kind| **kind != BackendType::InProcess);
    let kind = kind.and_then(backend_kind);
    match kind.filter(|kind| !is_automatic(*kind) || !kind.has_panes()) {
        Some(kind) => backend(app, Some(kind.backend().name()), false).map(Some),
        None => Ok(None),
    }
}

pub(crate) fn terminal(app: &App) -> TerminalFacts {
    terminal_with(&app.env, &app.root, &app.settings)
}

/// Returns the terminal environment with the settings about it.
pub(crate) fn terminal_with(env: &Environment, root: &Path, settings: &Settings) -> TerminalFacts {
    let program = Some(&settings.pane_program).filter(|program| !program.is_empty());
    TerminalFacts {
        pane_program: program.map(PathBuf::from),
        ..terminal_of(env, root)
    }
}

/// Returns the terminal environment without settings.
pub(crate) fn terminal_of(env: &Environment, root: &Path) -> TerminalFacts {
    TerminalFacts {
        tmux_env: env.get("TMUX").map(str::to_owned),
        tmux_pane: env.get("TMUX_PANE").map(str::to_owned),
        tmux_program: env.find_program("tmux"),
        iterm_session: env.get("ITERM_SESSION_ID").map(str::to_owned),
        it2_program: env.find_program("it2"),
        own_socket_dir: socket_directory(env, root),
        server_env: env.shell(&[]).into_iter().collect(),
        control_env: env.without_keys(),
        // The spawn adds team-specific values.
        ..TerminalFacts::default()
    }
}

/// Returns the directory for sockets of swarm's tmux servers: tmux's directory of this user, unless
/// its path is too long for a socket.
pub(crate) fn socket_directory(env: &Environment, root: &Path) -> PathBuf {
    let base = env
        .get("TMUX_TMPDIR")
        .or_else(|| env.get("TMPDIR"))
        .unwrap_or("/tmp");
    let directory =
        PathBuf::from(base).join(format!("tmux-{}", rustix::process::getuid().as_raw()));
    if directory.as_os_str().len() < 80 {
        directory
    } else {
        root.join("swarm").join("tmux")
    }
}

/// Returns the teammate program: next to this program, or on the PATH.
pub(crate) fn teammate_program(env: &Environment) -> Result<PathBuf> {
    let own = std::env::current_exe()?;
    let beside = own.with_file_name("swarm-teammate");
    if beside.is_file() {
        return Ok(beside);
    }
    env.find_program("swarm-teammate").ok_or_else(|| {
        let message = format!(
            "swarm-teammate not found next to {} or on the PATH",
            own.display()
        );
        Failure::environment(message).with_hint("install both `swarm` and `swarm-teammate`")
    })
}
