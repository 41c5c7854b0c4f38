//! Runs a lead with its terminal and signal handling.

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use swarm_agent::EventSink;
use swarm_config::ClaudeSettings;
use swarm_member::{LeadParts, RunReport, run_lead};
use swarm_protocol::{AgentEvent, ErrorKind, LEAD_NAME, SessionId, TeamName};
use swarm_ui::{Alert, PaneInput, SessionStatus, Theme};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::Notify;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio_util::sync::CancellationToken;

use super::configured::MEMORY;
use super::history::InputHistory;
use super::kept_choices::ChoicesKeeper;
use super::overview::Overview;
use super::panel_actions::{PanelActions, PanelHost};
use super::person_shell::ShellLines;
use super::questions::{AttentiveSink, QuestionHost, Questions};
use super::report::OutputFormat;
use super::rewind_picker::{REWIND, confirmed};
use super::session_picker::RESUME;
use super::slash::{TerminalCommands, Typed};
use super::status_command::StatusCommand;
use super::status_line::{StatusLine, StatusSink};
use super::terminal::{LeadTerminal, RestoreAtEnd};
use super::view::{events, view_theme};
use super::window_fit;
use crate::app::App;
use crate::commands::detach::Detached;
use crate::commands::runtime;
use crate::failure::Failure;
use crate::output::say;
use crate::output_style::output_style;
use crate::team_hooks::TeamHooks;

/// Input hint in the terminal of a run.
const TYPE_HERE: &str =
    "type to the lead; /help lists commands, Esc interrupts, Ctrl-D stops the run";

/// Input hint in the terminal of an interactive lead.
const TALK_HERE: &str =
    "type to the lead; /help lists commands, Esc interrupts, Ctrl-D ends the session";

/// Reply to `!` without a command.
const NO_SHELL_LINE: &str = "type a command after `!`, such as `!git status`";

/// A second Ctrl-C within this time stops an interactive lead.
const AGAIN: Duration = Duration::from_secs(2);

/// A second Esc within this time opens the picker of `/rewind`.
const DOUBLE_ESC: Duration = Duration::from_millis(800);

/// Runs a lead until it stops. Orphaned processes of its shell become children of this process
/// instead of init, so that they can be attributed to it.
pub(in crate::commands) fn execute_lead(
    app: &App,
    mut parts: LeadParts,
    output: OutputFormat,
    prompt: Option<String>,
) -> Result<RunReport, Failure> {
    parts.instructions.extend(output_style(app)?);
    let detached = Detached::leave_terminal(app, &parts)?;
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))
        .map_err(io::Error::from)?;
    let runtime = runtime()?;
    let hooks = TeamHooks::new(app)?;
    let report = runtime.block_on(async {
        // Signal handlers come first: an unhandled signal would leave the terminal in raw mode.
        let signals = EndSignals::listen()?;
        let terminal = LeadTerminal::begin(view_theme(app, output), &format!("{LEAD_NAME} > "))?;
        let _restored = RestoreAtEnd(terminal.clone());
        parts.events = events(app, output, &parts.spawn_context, &terminal);
        if let Some(detached) = detached {
            parts.events = detached.reporting(parts.events);
            wait_for_answers(app, &mut parts);
        }
        let end = Arc::new(Notify::new());
        let lines = Arc::<ShellLines>::default();
        let typist = read_terminal(app, &mut parts, &terminal, &end, &lines)?;
        let interrupts = Interrupts {
            stop: parts.stop.clone(),
            hangup: parts.hangup.clone(),
            kill: parts.kill.clone(),
            view: view_theme(app, output).map(|_| Arc::clone(&parts.events)),
            quiet: app.out.quiet,
            turn: (typist.as_ref().filter(|_| parts.is_interactive))
                .map(|typist| typist.lead.clone()),
            terminal,
        };
        let screen = interrupts.terminal.clone();
        let keeper = ChoicesKeeper::begin(&mut parts);
        let spawn_context = &parts.spawn_context;
        window_fit::follow(&spawn_context.terminal, spawn_context.backend.place)?;
        tokio::spawn(interrupts.follow(signals, end));
        let done = CancellationToken::new();
        let kept = tokio::spawn(hooks.keep(done.clone()));
        let typist = typist.filter(|_| parts.is_interactive);
        let prompt = match typist.clone() {
            Some(typist) => prompt.and_then(|prompt| typist.take_command(prompt)),
            None => prompt,
        };
        let stop = parts.stop.clone();
        // On a worker, next to the connection that it reads: each piece of an answer would wake
        // this thread otherwise.
        let report = match tokio::spawn(run_lead(parts, prompt)).await {
            Ok(report) => report,
            Err(failed) => std::panic::resume_unwind(failed.into_panic()),
        };
        if let Ok(report) = &report {
            keeper.end(&report.model);
        }
        lines.end();
        if let (Some(typist), Some(console)) = (typist, screen.console()) {
            typist.commands.keep_draft(&console.text());
        }
        done.cancel();
        if let Err(error) = kept.await {
            tracing::error!(%error, "team hooks failed");
        }
        report.map_err(|error| {
            let is_interrupted = stop.is_cancelled() && error.is_lock_timeout();
            let failure = Failure::from(error);
            if is_interrupted {
                // A stopped lead does not wait for locks.
                Failure {
                    kind: ErrorKind::Interrupted,
                    ..failure
                }
            } else {
                failure
            }
        })
    });
    // Threads that wait for a member to stop end with the process.
    runtime.shutdown_background();
    report
}

/// Lets requests wait without a timeout, unless a setting says otherwise: a person answers them here
/// or comes back to a detached run.
fn wait_for_answers(app: &App, parts: &mut LeadParts) {
    if app.settings.is_built_in("permissions.timeout_s") {
        parts.spawn_context.limits.permission_timeout_ms = 0;
    }
}

/// Forwards typed prompts to the lead; handles commands and answers to requests itself. Returns the
/// sink for more input if there is an input line. Ctrl-D and `/quit` notify `end`.
fn read_terminal(
    app: &App,
    parts: &mut LeadParts,
    terminal: &LeadTerminal,
    end: &Arc<Notify>,
    lines: &Arc<ShellLines>,
) -> Result<Option<Arc<Typist>>, Failure> {
    let status = Arc::new(status_line(app, parts, terminal)?);
    let commands = Arc::new(TerminalCommands::new(
        app,
        parts,
        terminal,
        Arc::clone(&status),
        lines,
    )?);
    let questions = Questions {
        store: Arc::clone(&app.store),
        watcher: Arc::clone(&parts.spawn_context.watcher),
        terminal: terminal.clone(),
        host: Arc::new(LeadHost {
            commands: Arc::clone(&commands),
            status: Arc::clone(&status),
        }),
        look: Arc::default(),
        put_off: Arc::default(),
        shown: Arc::default(),
    };
    let history = InputHistory::new(&app.root, &parts.spawn_context.cwd);
    terminal.remember(history.lines());
    let (tell, person) = unbounded_channel();
    let team_look = Arc::<Notify>::default();
    let panel = PanelActions {
        host: Arc::clone(&commands) as Arc<dyn PanelHost>,
        terminal: terminal.clone(),
        lead: tell.clone(),
    };
    let typist = Arc::new(Typist {
        history,
        panel,
        team_look: Arc::clone(&team_look),
        next_session: Arc::clone(&app.next_session),
        commands: Arc::clone(&commands),
        questions: questions.clone(),
        terminal: terminal.clone(),
        lead: tell,
        end: Arc::clone(end),
        is_interactive: parts.is_interactive,
        last_esc: Mutex::default(),
    });
    let typing = Arc::clone(&typist);
    let typed = move |input: PaneInput| typing.take(input);
    if !terminal.read(typed)? {
        if !app.out.quiet {
            terminal.hint_once();
        }
        return Ok(None);
    }
    let overview = terminal.console().map(|console| Overview {
        store: Arc::clone(&app.store),
        watcher: Arc::clone(&parts.spawn_context.watcher),
        status: Arc::clone(&status),
        commands: Arc::clone(&commands),
        console: console.clone(),
        clock: Arc::clone(&app.clock),
        look: Arc::clone(&team_look),
    });
    let shows_questions = commands.may_answer();
    let events = Arc::new(StatusSink {
        inner: Arc::clone(&parts.events),
        status: Arc::clone(&status),
    });
    parts.events = Arc::new(AttentiveSink {
        inner: events,
        questions: shows_questions.then(|| Arc::clone(&questions.look)),
        team: team_look,
    });
    if let Some(overview) = overview {
        tokio::spawn(overview.follow());
    }
    tokio::spawn(status.follow());
    if let Some(console) = terminal.console() {
        let completed = Arc::clone(&commands);
        console.complete_with(Box::new(move |text| completed.complete(text)));
        if parts.is_interactive {
            let attached = Arc::clone(&commands);
            console.attach_with(Box::new(move |text| attached.images.attach(text)));
        }
        if let Some(draft) = commands.draft() {
            console.set_text(&draft);
        }
    }
    if shows_questions {
        tokio::spawn(questions.follow());
    }
    parts.person = Some(person);
    wait_for_answers(app, parts);
    let line = if parts.is_interactive {
        TALK_HERE
    } else {
        TYPE_HERE
    };
    let line = line.to_owned();
    parts.events.emit(AgentEvent::Notice { line });
    Ok(Some(typist))
}

/// Creates the status line and the notifications of the session.
fn status_line(
    app: &App,
    parts: &LeadParts,
    terminal: &LeadTerminal,
) -> Result<StatusLine, Failure> {
    let claude = ClaudeSettings::load(&app.root, &app.env.cwd, app.env.home().as_deref())?;
    let settings = app.settings.clone().with(claude.given(&app.env))?;
    if let Some(console) = terminal.console() {
        console.set_editor_mode(settings.editor_mode);
        console.set_alert(Alert {
            bell: settings.notify_bell,
            osc: settings.notify_osc && !matches!(app.env.get("TERM"), Some("dumb" | "linux")),
            in_tmux: app.env.get("TMUX").is_some(),
        });
    }
    let spawn_context = &parts.spawn_context;
    let model = spawn_context.model.rsplit('/').next();
    let own = claude.status_line(app.is_trusted()?);
    let own = own.map(|command| StatusCommand::new(command, parts));
    let status = StatusLine::new(
        terminal.clone(),
        view_theme(app, OutputFormat::Text).unwrap_or(Theme::PLAIN),
        spawn_context.cwd.clone(),
        settings.notify_command,
        SessionStatus::new(
            model.unwrap_or(&spawn_context.model).to_owned(),
            spawn_context.mode,
            None,
        ),
    );
    Ok(status.with_own(own))
}

/// Answers requests in a lead's terminal.
struct LeadHost {
    commands: Arc<TerminalCommands>,
    status: Arc<StatusLine>,
}

impl QuestionHost for LeadHost {
    fn team(&self) -> Option<TeamName> {
        self.commands.team()
    }

    fn run(&self, command: &str) {
        self.commands.show_run(command);
    }

    fn announce(&self, question: &str) {
        self.status.run_command(question);
    }

    fn waiting(&self, _open: usize, _postponed: usize) {}
}

/// Handles typed input.
struct Typist {
    history: InputHistory,
    panel: PanelActions,
    /// Notified when the team panel should show the present state.
    team_look: Arc<Notify>,
    /// The conversation to continue after this session.
    next_session: Arc<Mutex<Option<SessionId>>>,
    commands: Arc<TerminalCommands>,
    questions: Questions,
    terminal: LeadTerminal,
    lead: UnboundedSender<PaneInput>,
    end: Arc<Notify>,
    is_interactive: bool,
    /// When Esc was last pressed.
    last_esc: Mutex<Option<Instant>>,
}

impl Typist {
    fn take(&self, input: PaneInput) {
        let input = match input {
            PaneInput::Shutdown => return self.end.notify_one(),
            PaneInput::Interrupt if self.commands.stop_lines() => return,
            PaneInput::Interrupt if self.is_second_esc() => return self.commands.pick_prompt(),
            PaneInput::Choice { dialog, key } => return self.questions.answer(&dialog, key),
            PaneInput::TeamPanel => return self.team_look.notify_one(),
            PaneInput::Panel { action, subject } => return self.panel.act(action, &subject),
            PaneInput::Message { to, text } => return self.panel.message(&to, &text),
            PaneInput::Picked { list, item } => {
                return item.into_iter().for_each(|item| self.picked(&list, &item));
            }
            PaneInput::Expand => return self.commands.page_transcript(),
            PaneInput::CycleMode => self.commands.mode_input(None),
            PaneInput::Edit(text) => return self.commands.edit(&self.terminal, &text),
            PaneInput::Line(line) => {
                let line = self.commands.images.with_paths(&line);
                self.history.add(&line);
                let shell = line.strip_prefix('!').map(str::trim);
                match shell.filter(|_| self.is_interactive) {
                    Some("") => return self.commands.show(NO_SHELL_LINE.to_owned()),
                    Some(shell) => return self.run_shell(shell.to_owned()),
                    None => {}
                }
                match self.commands.take(line) {
                    Typed::Prompt(line) => PaneInput::Line(line),
                    Typed::Input(input) => input,
                    Typed::Quit => return self.end.notify_one(),
                    Typed::Done => return,
                }
            }
            input => input,
        };
        // A stopped lead no longer receives.
        self.lead.send(input).ok();
    }

    /// Returns whether Esc was pressed twice on an empty line.
    fn is_second_esc(&self) -> bool {
        let now = Instant::now();
        let before = self.last_esc.lock().replace(now);
        let is_empty = (self.terminal.console()).is_some_and(|console| console.text().is_empty());
        self.is_interactive && is_empty && before.is_some_and(|before| now - before < DOUBLE_ESC)
    }

    /// Handles the choice in a picker.
    fn picked(&self, list: &str, item: &str) {
        if list == REWIND {
            self.commands.pick_scope(item);
        } else if let Some((line, scope)) = confirmed(list, item) {
            // Before the lead drops the line.
            if scope.has_conversation() {
                self.commands.edit_again(line);
            }
            let line = line.to_owned();
            self.lead.send(PaneInput::Rewind { line, scope }).ok();
        } else if list == MEMORY {
            self.commands.edit_memory(&self.terminal, item);
        } else if list == RESUME {
            self.continue_with(item);
        }
    }

    /// Ends this session, to continue the conversation that was picked.
    fn continue_with(&self, picked: &str) {
        let Some(session) = self.commands.session_here(picked) else {
            return;
        };
        *self.next_session.lock() = Some(session);
        self.end.notify_one();
    }

    /// Runs an initial prompt as typed input if it is a command; returns any other prompt.
    fn take_command(self: Arc<Self>, prompt: String) -> Option<String> {
        if !prompt.starts_with('/') {
            return Some(prompt);
        }
        // A prompt file may run shell commands that take time.
        std::thread::spawn(move || self.take(PaneInput::Line(prompt)));
        None
    }

    /// Runs a shell command on a separate thread, so that input is still read.
    fn run_shell(&self, line: String) {
        let (commands, lead) = (Arc::clone(&self.commands), self.lead.clone());
        std::thread::spawn(move || {
            if let Some(text) = commands.shell(&line) {
                lead.send(PaneInput::Context(text)).ok();
            }
        });
    }
}

/// The signals that stop a lead.
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

/// The state that signals change.
struct Interrupts {
    stop: CancellationToken,
    hangup: CancellationToken,
    kill: CancellationToken,
    /// Where the lead's work is drawn, if anywhere.
    view: Option<Arc<dyn EventSink>>,
    quiet: bool,
    /// Interrupts the turn, if Ctrl-C first interrupts the turn.
    turn: Option<UnboundedSender<PaneInput>>,
    terminal: LeadTerminal,
}

impl Interrupts {
    /// Handles stop requests. The first Ctrl-C stops the team gracefully, the second kills it, the
    /// third exits immediately. SIGTERM and Ctrl-D (`asked`) count like Ctrl-C. If the terminal
    /// closes, the lead stops and its members wait for another lead. In an interactive lead Ctrl-C
    /// first clears the input line or interrupts the turn, and counts only if pressed again soon.
    async fn follow(self, mut signals: EndSignals, asked: Arc<Notify>) {
        let mut last = None;
        loop {
            tokio::select! {
                _ = signals.interrupt.recv() => if self.is_about_turn(&mut last) {
                    continue;
                },
                _ = signals.terminate.recv() => {}
                () = asked.notified() => {}
                _ = signals.hangup.recv() => {
                    // SIGHUP may arrive twice: from the kernel and from the shell.
                    if !self.stop.is_cancelled() {
                        self.hangup.cancel();
                        self.stop.cancel();
                    }
                    continue;
                }
            }
            self.end();
        }
    }

    /// Returns whether a Ctrl-C applies to the input line or the turn instead of the session.
    fn is_about_turn(&self, last: &mut Option<Instant>) -> bool {
        let Some(turn) = self.turn.as_ref().filter(|_| !self.stop.is_cancelled()) else {
            return false;
        };
        if self.terminal.clear() {
            return true;
        }
        if last.is_some_and(|last| last.elapsed() < AGAIN) {
            return false;
        }
        *last = Some(Instant::now());
        // A stopped lead no longer receives.
        turn.send(PaneInput::Interrupt).ok();
        self.tell("press Ctrl-C again to end the session");
        true
    }

    fn end(&self) {
        if self.kill.is_cancelled() {
            self.tell("exiting without waiting; `swarm ps` shows remaining processes, `swarm reap` terminates orphaned ones");
            self.terminal.end();
            let code = ErrorKind::Interrupted.exit_code().0;
            std::process::exit(code.into());
        }
        if self.stop.is_cancelled() {
            self.tell("killing the team; press Ctrl-C again to exit immediately");
            self.kill.cancel();
            return;
        }
        self.tell("stopping the team; press Ctrl-C again to kill it");
        self.stop.cancel();
    }

    fn tell(&self, line: &str) {
        match &self.view {
            Some(view) => view.emit(AgentEvent::Notice {
                line: line.to_owned(),
            }),
            // The person who interrupts reads stderr, even if a program reads stdout.
            None if !self.quiet => say(&format!("swarm: {line}")),
            None => {}
        }
    }
}
