//! From settings, environment and flags to what the lead needs to start members.

use std::collections::BTreeMap;
use std::io::IsTerminal as _;
use std::path::PathBuf;
use std::sync::Arc;

use swarm_fs::FolderWatcher;
use swarm_lead::{Deployment, ProcessIdentity, RuleTexts};
use swarm_panes::{BackendRequest, TerminalFacts};
use swarm_protocol::{ErrorKind, PermissionMode, SpawnId};
use swarm_store::process::{pid_space, start_time};
use swarm_team::MemberLimits;

use crate::app::App;
use crate::failure::Failure;
use crate::models::resolve;
use crate::rules::Permissions;

/// Version of the program; parent and child must agree.
pub(crate) const VERSION: &str = env!("CARGO_PKG_VERSION");

/// What flags may change.
#[derive(Debug, Default)]
pub(crate) struct Choices {
    pub(crate) model: Option<String>,
    pub(crate) mode: Option<PermissionMode>,
    pub(crate) backend: Option<String>,
}

/// The deployment of this process, and the permission rules of the one who acts.
pub(crate) fn deployment(
    app: &App,
    choices: &Choices,
) -> Result<(Deployment, Permissions), Failure> {
    let home = app.env.home();
    let permissions = Permissions::load(&app.root, &app.env.cwd, home.as_deref())?;
    let mode = choices
        .mode
        .or(permissions.default_mode)
        .unwrap_or(app.settings.mode);
    let aliases = app.settings.aliases.clone();
    let cwd = app.env.cwd.clone();
    let named = choices.model.as_deref().unwrap_or(&app.settings.model);
    let model = resolve(named, &aliases, &cwd)
        .map_err(Failure::usage)?
        .to_string();
    let base = cwd.clone();
    let deployment = Deployment {
        program: teammate_program(app)?,
        backend: backend(app, choices.backend.as_deref())?,
        model,
        resolve_model: Arc::new(move |name| {
            resolve(name, &aliases, &base).map(|resolved| resolved.to_string())
        }),
        mode,
        ceiling: mode,
        rules: permissions.texts(),
        ..for_stopping(app)
    };
    Ok((deployment, permissions))
}

/// What ending members takes. Nothing in it can be wrong in a settings file, so that whatever runs can be stopped;
/// it starts nobody.
pub(crate) fn for_stopping(app: &App) -> Deployment {
    Deployment {
        root: app.root.clone(),
        cwd: app.env.cwd.clone(),
        store: Arc::clone(&app.store),
        clock: Arc::clone(&app.clock),
        watcher: Arc::new(FolderWatcher::new()),
        program: PathBuf::new(),
        terminal: terminal(app),
        backend: BackendRequest::default(),
        shell_env: app.env.shell(&app.settings.pass),
        provider: app.env.provider(),
        model: String::new(),
        resolve_model: Arc::new(|name| {
            Err(format!("no member is started with model `{name}` here"))
        }),
        mode: PermissionMode::Plan,
        ceiling: PermissionMode::Plan,
        rules: RuleTexts::default(),
        limits: limits(app),
        hello_deadline: app.settings.hello_timeout,
        kill_grace: app.settings.kill_grace,
        color_output: app.env.color(true),
        pace: app.settings.pace,
        version: VERSION.to_owned(),
        process: identity(),
        spawn_id: SpawnId::random(),
    }
}

fn limits(app: &App) -> MemberLimits {
    let millis =
        |duration: std::time::Duration| u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
    MemberLimits {
        max_requests: app.settings.max_requests,
        permission_timeout_ms: millis(app.settings.permission_timeout),
        shutdown_grace_ms: millis(app.settings.shutdown_grace),
    }
}

/// Where members run: what a flag or the settings say.
pub(crate) fn backend(app: &App, asked: Option<&str>) -> Result<BackendRequest, Failure> {
    let word = asked.unwrap_or(&app.settings.backend);
    if !["auto", "tmux", "headless"].contains(&word) {
        let message = format!("`{}` is not a backend", word.escape_debug());
        return Err(Failure::usage(message).with_hint("use auto, tmux or headless"));
    }
    let Ok(mut request) = word.parse::<BackendRequest>();
    request.place = app.settings.place.parse().map_err(Failure::usage)?;
    Ok(request)
}

/// What is known of the terminal.
pub(crate) fn terminal(app: &App) -> TerminalFacts {
    let folder = app.root.join("swarm").join("tmux");
    let server_env = app.env.shell(&[]).into_iter().collect::<BTreeMap<_, _>>();
    TerminalFacts {
        tmux_env: app.env.get("TMUX").map(str::to_owned),
        tmux_pane: app.env.get("TMUX_PANE").map(str::to_owned),
        tmux_program: app.env.find_program("tmux"),
        own_socket_dir: socket_folder(app).unwrap_or(folder),
        lead_pid: std::process::id(),
        own_socket: None,
        server_env: server_env.into_iter().collect(),
        stdout_is_tty: std::io::stdout().is_terminal(),
    }
}

/// A folder for sockets whose path is short enough for one: tmux's own, of this user.
fn socket_folder(app: &App) -> Option<PathBuf> {
    let base = app
        .env
        .get("TMUX_TMPDIR")
        .or_else(|| app.env.get("TMPDIR"))
        .unwrap_or("/tmp");
    let folder = PathBuf::from(base).join(format!("tmux-{}", rustix::process::getuid().as_raw()));
    (folder.as_os_str().len() < 80).then_some(folder)
}

fn teammate_program(app: &App) -> Result<PathBuf, Failure> {
    let own = std::env::current_exe()?;
    let beside = own.with_file_name("swarm-teammate");
    if beside.is_file() {
        return Ok(beside);
    }
    app.env.find_program("swarm-teammate").ok_or_else(|| {
        let message = format!(
            "swarm-teammate was found neither beside {} nor on the PATH",
            own.display()
        );
        Failure::new(ErrorKind::Environment, message).with_hint("install both programs of swarm")
    })
}

/// This process.
pub(crate) fn identity() -> ProcessIdentity {
    let pid = std::process::id();
    ProcessIdentity {
        pid,
        start: start_time(pid).unwrap_or_default(),
        host: rustix::system::uname()
            .nodename()
            .to_string_lossy()
            .into_owned(),
        pid_space: pid_space(),
    }
}
