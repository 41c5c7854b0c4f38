//! `swarm run`: the headless team lead.

use std::io::{self, IsTerminal as _, Read as _};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use swarm_config::ClaudeSettings;
use swarm_engine::NoEvents;
use swarm_fs::process::forbid_inspection;
use swarm_member::{LeadParts, Outcome, RunReport, run_headless};
use swarm_protocol::{AgentEvent, ErrorKind, PermissionMode, SessionId, TeamName, Usage};
use swarm_store::StoreError;
use swarm_supervisor::{Deployment, LeadStanding, lead_standing};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::acting::require_person;
use super::lead_terminal::{LeadTerminal, RestoreAtEnd};
use super::run_events::{events, view_theme};
use super::worktree::{OwnWorktree, leave_entered, no_prompt, wish};
use crate::app::App;
use crate::deployment::{Choices, Prepared, deployment};
use crate::failure::Failure;
use crate::models;
use crate::output::{plain, say};
use crate::root_folder;
use crate::team_hooks::TeamHooks;
use crate::teammate_entry::platform;

/// What a person at the terminal of a run can do.
const TYPE_HERE: &str = "type to the lead; Esc interrupts it, Ctrl-D ends the run";

#[derive(Debug, clap::Args)]
#[command(after_help = "\
The lead creates a team when it needs one. The run ends when the lead has finished and every task is completed or \
failed. Exit codes: 0 on success, 9 if the lead or a task failed, 6 on timeout. In a terminal, type to the lead while \
it works; Esc interrupts it. Press Ctrl-C once to shut the team down, twice to kill it. After a timeout or a closed \
terminal, members wait for `swarm resume`.

Examples:
  swarm run \"Find out why the import is slow, and prove it.\"
  swarm run - --mode acceptEdits --timeout 1800 < prompt.txt
  swarm run \"Review the last commit\" --output json | jq -r .result")]
pub(crate) struct RunArgs {
    /// Prompt for the lead, or - for standard input.
    pub(crate) prompt: String,
    /// Model, inherited by members: PROVIDER/MODEL, an alias, or a model ID [default: setting `model.default`].
    #[arg(long)]
    pub(crate) model: Option<String>,
    /// Agent definitions for this run: {"NAME": {"description": …, "prompt": …}}.
    #[arg(long, value_name = "JSON")]
    pub(crate) agents: Option<String>,
    /// Permission mode, inherited by members: plan, dontAsk, default, acceptEdits or bypassPermissions [default: setting `permissions.mode`].
    #[arg(long, alias = "permission-mode")]
    pub(crate) mode: Option<PermissionMode>,
    /// Work in a git worktree with this name instead of the current directory [default: a generated name].
    #[arg(long, value_name = "SLUG", num_args = 0..=1, default_missing_value = "", value_parser = no_prompt)]
    pub(crate) worktree: Option<String>,
    /// Copy uncommitted changes into the worktree.
    #[arg(long, requires = "worktree")]
    pub(crate) snapshot: bool,
    /// Backend for members: auto, tmux or headless [default: setting `spawn.backend`].
    #[arg(long)]
    pub(crate) backend: Option<String>,
    /// Output format.
    #[arg(long, value_enum, default_value_t = OutputFormat::Text)]
    pub(crate) output: OutputFormat,
    /// Maximum model requests per turn [default: setting `turn.max_requests`].
    #[arg(long, value_name = "N")]
    pub(crate) max_turns: Option<u32>,
    /// Stop the run after this many seconds; members then wait for `swarm resume` [default: never].
    #[arg(long, value_name = "SECONDS")]
    pub(crate) timeout: Option<u64>,
    /// Delete the team at the end and archive its tasks and journal.
    #[arg(long)]
    pub(crate) rm: bool,
    /// MCP servers for this command, as a file with `mcpServers` or as JSON; repeatable.
    #[arg(long, value_name = "FILE|JSON")]
    pub(crate) mcp_config: Vec<String>,
    /// Trust this repository's hooks, MCP servers and definitions for this command.
    #[arg(long)]
    pub(crate) trust: bool,
    /// Also write the report to this file.
    #[arg(long, value_name = "FILE", hide = true)]
    pub(crate) report: Option<std::path::PathBuf>,
}

/// What `run` prints on stdout.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum OutputFormat {
    /// The lead's final report.
    Text,
    /// One JSON document at the end.
    Json,
    /// One JSON line per event, then the document.
    StreamJson,
}

pub(super) fn run(app: &App, args: &RunArgs) -> Result<ExitCode, Failure> {
    let acting = require_person(app, "run")?;
    forbid_inspection();
    acting.require_trust("run", args.trust)?;
    let prompt = prompt(&args.prompt)?;
    let choices = Choices {
        model: args.model.clone(),
        mode: args.mode,
        backend: args.backend.clone(),
        in_run: true,
    };
    if let Some(team) = app.asked_team()? {
        refuse_if_there(app, &team)?;
    }
    let Prepared {
        mut deployment,
        claude,
        ..
    } = deployment(app, &choices)?;
    acting.require_mode("run", deployment.ceiling)?;
    let max_requests = args.max_turns.unwrap_or(app.settings.max_requests);
    app.settings.permit("turn.max_requests", max_requests)?;
    root_folder::make(&app.root)?;
    let output = output_format(app, args.output);
    let session = SessionId::random();
    let wish = wish(args.worktree.as_deref(), args.snapshot)?;
    let own = wish
        .map(|wish| OwnWorktree::enter(app, wish, session))
        .transpose()?;
    if let Some(own) = &own {
        deployment.cwd = own.cwd();
        own.extend_env(&mut deployment.shell_env);
    }
    let worktree = own.as_ref().map(OwnWorktree::root);
    let instructions = own.iter().map(OwnWorktree::notice).collect();
    let ran = lead(app, args, prompt, deployment, claude, |parts| LeadParts {
        session,
        worktree,
        instructions,
        ..parts
    });
    if let Some(own) = own {
        own.leave(app);
    }
    leave_entered(app);
    let report = ran?;
    if let Some(path) = &args.report {
        let bytes = serde_json::to_vec(&report).map_err(anyhow::Error::from)?;
        swarm_fs::replace_alone(&app.env.cwd.join(path), &bytes).map_err(anyhow::Error::from)?;
    }
    show(app, output, &report)
}

/// Lets the lead work, in the place that `place` gives it.
fn lead(
    app: &App,
    args: &RunArgs,
    prompt: String,
    deployment: Deployment,
    claude: ClaudeSettings,
    place: impl FnOnce(LeadParts) -> LeadParts,
) -> Result<RunReport, Failure> {
    let max_requests = args.max_turns.unwrap_or(app.settings.max_requests);
    let output = output_format(app, args.output);
    let parts = LeadParts {
        team: app.asked_team()?,
        max_requests,
        timeout: args.timeout.map(Duration::from_secs),
        remove_team: args.rm,
        ..parts(app, deployment, claude)?
    };
    conduct(app, place(parts), output, prompt)
}

/// A run begins a team of its own. Looked at before anything is printed or started; of two runs that begin at once the
/// store lets one have the name.
fn refuse_if_there(app: &App, team: &TeamName) -> Result<(), Failure> {
    let config = match app.store.config(team) {
        Err(StoreError::TeamNotFound { .. }) => return Ok(()),
        config => config?,
    };
    let (is_taken, state) = match lead_standing(&*app.store, &config)? {
        LeadStanding::Led { .. } | LeadStanding::Unknown { .. } => (true, "a lead works in it"),
        LeadStanding::Lost { .. } => (false, "its lead was lost"),
        LeadStanding::ByHand => (false, "no lead works in it"),
        LeadStanding::Foreign { .. } => (true, "another program made it"),
    };
    let hint = if is_taken {
        "choose another name".to_owned()
    } else {
        format!(
            "let a lead carry on in it with `swarm resume {team} PROMPT`, choose another name, or delete it with \
             `swarm team delete {team} --force`"
        )
    };
    let team = team.clone();
    let state = state.to_owned();
    Err(Failure::from(StoreError::TeamExists { team, state }).with_hint(hint))
}

/// What `--json` and `--output` mean together.
pub(super) fn output_format(app: &App, asked: OutputFormat) -> OutputFormat {
    if app.out.json {
        OutputFormat::Json
    } else {
        asked
    }
}

/// A lead of a conversation of its own, without a team, that runs until it is done.
pub(super) fn parts(
    app: &App,
    deployment: Deployment,
    claude: ClaudeSettings,
) -> Result<LeadParts, Failure> {
    let model = models::client(&deployment.model, &deployment.provider, deployment.pace)?;
    // A backend that was named is there or the run does not begin; `auto` is decided at the first spawn.
    if deployment.backend.backend.is_some() {
        let chosen = swarm_panes::choose(&deployment.backend, &deployment.terminal);
        super::runtime()?.block_on(chosen)?;
    }
    Ok(LeadParts {
        home: app.env.home(),
        worktree: None,
        session: SessionId::random(),
        team: None,
        takes_over: false,
        brings_back: false,
        runtime: Arc::new(swarm_engine::ModelLoop),
        model,
        models: Arc::new(models::Factory::new(
            &deployment.agent_config.models,
            &deployment.provider,
            deployment.pace,
            &deployment.cwd,
        )),
        rules: claude.rules,
        events: Arc::new(NoEvents),
        person: None,
        platform: platform(),
        instructions: Vec::new(),
        max_requests: app.settings.max_requests,
        timeout: None,
        remove_team: false,
        stop: CancellationToken::new(),
        hangup: CancellationToken::new(),
        kill: CancellationToken::new(),
        deployment,
    })
}

/// Lets a lead work until its end. What its shell leaves behind becomes a child of this process, not of init, and so
/// is known to have a lead that lives.
pub(super) fn conduct(
    app: &App,
    mut parts: LeadParts,
    output: OutputFormat,
    prompt: String,
) -> Result<RunReport, Failure> {
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))
        .map_err(std::io::Error::from)?;
    let runtime = super::runtime()?;
    let hooks = TeamHooks::new(app)?;
    let report = runtime.block_on(async {
        // Before the terminal is changed: a signal that nobody hears would leave it so.
        let signals = EndSignals::listen()?;
        let terminal = LeadTerminal::begin(view_theme(app, output))?;
        let _restored = RestoreAtEnd(terminal.clone());
        parts.events = events(app, output, &parts.deployment, &terminal);
        let asked = Arc::new(Notify::new());
        let end = Arc::clone(&asked);
        parts.person = terminal.person(move || end.notify_one())?;
        if parts.person.is_some() {
            parts.events.emit(AgentEvent::Notice {
                line: TYPE_HERE.to_owned(),
            });
        } else if !app.out.quiet {
            terminal.hint_once();
        }
        let (set, quiet) = (Interrupts::of(&parts), app.out.quiet);
        let is_drawn = view_theme(app, output).is_some();
        let view = is_drawn.then(|| Arc::clone(&parts.events));
        let tell = move |line: &str| match &view {
            Some(view) => view.emit(AgentEvent::Notice {
                line: line.to_owned(),
            }),
            // Whoever interrupts is there to read it, even where a program reads the rest.
            None if !quiet => say(&format!("swarm: {line}")),
            None => {}
        };
        tokio::spawn(interrupts(tell, set, signals, asked, terminal));
        let done = CancellationToken::new();
        let kept = tokio::spawn(hooks.keep(done.clone()));
        let report = run_headless(parts, prompt).await;
        done.cancel();
        if let Err(error) = kept.await {
            tracing::error!(%error, "hooks of the team broke down");
        }
        Ok(report?)
    });
    // Threads that wait for a member's death end with the process.
    runtime.shutdown_background();
    report
}

/// The words of a prompt that is given as an argument or on standard input.
pub(super) fn prompt(given: &str) -> Result<String, Failure> {
    let mut text = given.to_owned();
    if given == "-" {
        text.clear();
        std::io::stdin().read_to_string(&mut text)?;
    }
    if text.trim().is_empty() {
        return Err(Failure::usage("the prompt is empty").with_hint("say what is to be done"));
    }
    Ok(text)
}

/// What signals set.
struct Interrupts {
    stop: CancellationToken,
    hangup: CancellationToken,
    kill: CancellationToken,
}

impl Interrupts {
    fn of(parts: &LeadParts) -> Self {
        Self {
            stop: parts.stop.clone(),
            hangup: parts.hangup.clone(),
            kill: parts.kill.clone(),
        }
    }
}

/// The signals that end a run.
struct EndSignals {
    interrupt: Signal,
    terminate: Signal,
    hangup: Signal,
}

impl EndSignals {
    fn listen() -> io::Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hangup: signal(SignalKind::hangup())?,
        })
    }
}

/// Ctrl-C once: an orderly end. Twice: an end now. A third time: this process ends, whatever is left. SIGTERM and Ctrl-D
/// (`asked`) count like Ctrl-C. When the terminal closes the run ends too, and its members wait for another lead.
#[expect(
    clippy::exit,
    reason = "whoever asks for the third time will not wait for anything"
)]
async fn interrupts(
    tell: impl Fn(&str) + Send + 'static,
    set: Interrupts,
    mut signals: EndSignals,
    asked: Arc<Notify>,
    terminal: LeadTerminal,
) {
    loop {
        tokio::select! {
            _ = signals.interrupt.recv() => {}
            _ = signals.terminate.recv() => {}
            () = asked.notified() => {}
            _ = signals.hangup.recv() => {
                // It comes more than once: from the kernel and from the shell.
                if !set.stop.is_cancelled() {
                    set.hangup.cancel();
                    set.stop.cancel();
                }
                continue;
            }
        }
        if set.kill.is_cancelled() {
            tell("given up; `swarm ps` shows what is left, `swarm reap` ends it");
            terminal.end();
            let code = ErrorKind::Interrupted.exit_code().0;
            std::process::exit(code.into());
        }
        if set.stop.is_cancelled() {
            tell("killing the team; Ctrl-C again gives up at once");
            set.kill.cancel();
            continue;
        }
        tell("ending the team; Ctrl-C again kills it");
        set.stop.cancel();
    }
}

/// Prints what a run came to; its exit code tells the outcome.
pub(super) fn show(
    app: &App,
    output: OutputFormat,
    report: &RunReport,
) -> Result<ExitCode, Failure> {
    match output {
        OutputFormat::Text => {
            // On one screen with the lead's work it stands there already, as the end of that.
            let seen = io::stdout().is_terminal() && io::stderr().is_terminal() && !app.out.quiet;
            if !seen {
                app.out.data(&plain(report.result.trim_end()))?;
            }
            for line in summary(report) {
                app.out.say(&line);
            }
        }
        OutputFormat::Json => app.out.json(report)?,
        OutputFormat::StreamJson => {
            let mut line = serde_json::to_value(report).map_err(anyhow::Error::from)?;
            line["type"] = serde_json::json!("result");
            app.out.json_line(&line)?;
        }
    }
    Ok(match report.outcome.error_kind() {
        None => ExitCode::SUCCESS,
        Some(kind) => ExitCode::from(kind.exit_code().0),
    })
}

fn summary(report: &RunReport) -> Vec<String> {
    let mut lines = Vec::new();
    if report.outcome != Outcome::Completed {
        lines.push(format!("swarm: {}", report.outcome.sentence()));
    }
    for task in &report.tasks {
        let owner = task
            .owner
            .as_deref()
            .map_or_else(String::new, |owner| format!(" ({owner})"));
        lines.push(format!(
            "  #{} [{}] {}{owner}",
            task.id,
            task.state.name(),
            task.subject
        ));
    }
    for left in report.worktrees.iter().filter(|left| left.kept) {
        lines.push(format!("  {}", left.sentence()));
    }
    for member in &report.members {
        lines.push(format!(
            "  {}: {}, {}{}",
            member.name,
            member.end,
            swarm_ui::print::counted(member.turns, "turn"),
            tokens(member.usage)
        ));
    }
    if let Some(team) = report.team.as_ref().filter(|_| waits_for_lead(report)) {
        lines.push(format!(
            "swarm: the team waits for a lead: `swarm resume {team} PROMPT` goes on, `swarm shutdown --all --team {team}` ends it"
        ));
    }
    let seconds = report.duration_ms / 1000;
    let tenths = report.duration_ms % 1000 / 100;
    let team = report
        .team
        .as_ref()
        .map_or_else(String::new, |team| format!("team {team}, "));
    lines.push(format!(
        "swarm: {team}{seconds}.{tenths} s{}",
        tokens(report.usage)
    ));
    lines
}

/// Whether the run has left members behind that another lead can take over.
fn waits_for_lead(report: &RunReport) -> bool {
    let is_left = |member: &swarm_member::MemberLine| member.end == "alive";
    report.outcome == Outcome::TimedOut && report.members.iter().any(is_left)
}

/// The end of a line that names tokens, empty where the server counted none: a 0 would say that it cost nothing.
fn tokens(usage: Usage) -> String {
    match usage.total() {
        0 => String::new(),
        total => format!(", {total} tokens"),
    }
}
