//! A person at a lead's terminal: prompts, commands and answers to requests.

use std::sync::Arc;
use std::time::Instant;

use parking_lot::Mutex;
use swarm_config::{ClaudeSettings, Environment};
use swarm_member::LeadParts;
use swarm_protocol::{AgentEvent, Color, MemberName, RequestRecord, TeamName};
use swarm_tools::{Caller, ProtectedPaths, ToolContext};
use swarm_ui::{Alert, Console, DesktopAlert, PaneInput, SessionStatus, command_in};
use tokio::runtime::Handle;
use tokio::sync::Notify;
use tokio::sync::mpsc::unbounded_channel;

use super::configured::MEMORY;
use super::history::InputHistory;
use super::overview::Overview;
use super::pane_questions::{DOUBLE_ESC, RequestKeys};
use super::panel_actions::PanelActions;
use super::person_shell::ShellLines;
use super::plain_terminal::text_of;
use super::questions::{Questions, UNARMED, attentive};
use super::queued_lines::QueuedLines;
use super::request_dialog::{DialogRequest, KeyAnswer, QuestionHost};
use super::rewind_picker::{REWIND, confirmed};
use super::session_picker::RESUME;
use super::slash::{TerminalCommands, Typed};
use super::status_command::StatusCommand;
use super::status_line::StatusLine;
use super::terminal::LeadTerminal;
use crate::app::App;
use crate::escape_time::escape_time;
use crate::failure::Result;
use crate::window_mark::WindowMark;

/// Input hint in the terminal of a run.
const TYPE_HERE: &str =
    "type to the lead; /help lists commands, Esc interrupts, Ctrl-D stops the run";

/// Input hint in the terminal of an interactive lead.
const TALK_HERE: &str =
    "type to the lead; /help lists commands, Esc interrupts, Ctrl-D ends the session";

/// Input hint in the terminal of an interactive lead without a screen.
const PLAIN_HERE: &str =
    "type a line to the lead; /help lists commands, Ctrl-C interrupts, Ctrl-D ends the session";

/// Input hint in the terminal of a run without a screen.
const PLAIN_RUN: &str = "type a line to the lead; /help lists commands, Ctrl-D stops the run";

/// Reply to `!` without a command.
const NO_SHELL_LINE: &str = "type a command after `!`, such as `!git status`";

/// Reply to Ctrl-V in the terminal of a run.
const NO_IMAGES: &str = "images can be attached to the prompts of `swarm lead`";

/// Lets requests wait without a timeout, unless a setting says otherwise, and commands ask for
/// hosts: a person answers here or comes back to a detached run.
pub(super) fn wait_for_answers(app: &App, parts: &mut LeadParts) {
    let agent_config = Arc::make_mut(&mut parts.spawn_context.definition.config);
    agent_config.shell.asks_for_hosts = true;
    if app.settings.is_built_in("permissions.timeout_s") {
        parts.spawn_context.limits.permission_timeout_ms = 0;
    }
}

/// Forwards typed prompts to the lead; handles commands and answers to requests itself. Returns the
/// sink for more input if there is an input line. Ctrl-D and `/quit` notify `end`.
pub(super) fn read_terminal(
    app: &App,
    parts: &mut LeadParts,
    terminal: &LeadTerminal,
    end: &Arc<Notify>,
    lines: &Arc<ShellLines>,
) -> Result<Option<Arc<Typist>>> {
    let status = Arc::new(status_line(app, parts, terminal)?);
    let (tell, person) = unbounded_channel();
    let commands = Arc::new(TerminalCommands::new(
        app,
        parts,
        terminal,
        Arc::clone(&status),
        lines,
        tell.clone(),
    )?);
    let window = WindowMark::of(&parts.spawn_context.terminal);
    let host = LeadHost {
        commands: Arc::clone(&commands),
        terminal: terminal.clone(),
        window: window.clone(),
    };
    let watcher = &parts.spawn_context.watcher;
    let questions = Questions::new(&app.store, watcher, Arc::new(host));
    let history = InputHistory::new(&app.root, &parts.spawn_context.workspace.cwd);
    terminal.remember(history.lines());
    let team_look = Arc::<Notify>::default();
    let panel = PanelActions {
        commands: Arc::clone(&commands),
        terminal: terminal.clone(),
    };
    let queue = Arc::new(QueuedLines::new(
        terminal.console().filter(|_| parts.is_interactive).cloned(),
        tell,
        parts.stops.stop.clone(),
    ));
    let typist = Arc::new(Typist {
        history,
        queue: Arc::clone(&queue),
        panel,
        team_look: Arc::clone(&team_look),
        commands: Arc::clone(&commands),
        request_keys: Mutex::new(RequestKeys::new(questions.clone(), DOUBLE_ESC)),
        terminal: terminal.clone(),
        end: Arc::clone(end),
        window,
        runtime: Handle::current(),
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
    let overview = Overview {
        watcher: Arc::clone(&parts.spawn_context.watcher),
        commands: Arc::clone(&commands),
        console: terminal.console().cloned(),
        look: Arc::clone(&team_look),
    };
    let shows_questions = commands.actor.shows_dialogs();
    let events = queue.following(status.following(Arc::clone(&parts.events)));
    let requests = shows_questions.then(|| Arc::clone(&questions.look));
    parts.events = attentive(events, requests, team_look);
    tokio::spawn(overview.follow());
    tokio::spawn(status.follow());
    if let Some(console) = terminal.console() {
        prepare_input(console, &commands, parts.is_interactive);
    }
    if shows_questions {
        // A team that is taken over may have open requests.
        questions.look.notify_one();
        tokio::spawn(questions.follow());
    }
    parts.person = Some(person);
    wait_for_answers(app, parts);
    let line = input_hint(parts.is_interactive, terminal.is_plain()).to_owned();
    parts.events.emit(AgentEvent::Notice { line });
    Ok(Some(typist))
}

/// Sets what the input line completes and attaches, and restores the draft of the last session.
fn prepare_input(console: &Console, commands: &Arc<TerminalCommands>, is_interactive: bool) {
    let completed = Arc::clone(commands);
    console.complete_with(Box::new(move |text| completed.complete(text)));
    if is_interactive {
        let attached = Arc::clone(commands);
        console.attach_with(Box::new(move |text| attached.images.attach(text)));
    }
    if let Some(draft) = commands.draft.read() {
        console.set_text(&draft);
    }
}

/// Returns the input hint of a lead's terminal.
fn input_hint(is_interactive: bool, is_plain: bool) -> &'static str {
    match (is_interactive, is_plain) {
        (true, true) => PLAIN_HERE,
        (true, false) => TALK_HERE,
        (false, true) => PLAIN_RUN,
        (false, false) => TYPE_HERE,
    }
}

/// Returns the lead with its sandbox, for the status line and hooks of the team.
pub(super) fn lead_sandbox(app: &App, parts: &LeadParts) -> ToolContext {
    let dep = &parts.spawn_context;
    ToolContext {
        env: Arc::new(app.env.shell(&app.settings.pass)),
        guards: Arc::new(dep.definition.config.shell.clone()),
        protected: Arc::new(ProtectedPaths::new(&dep.root)),
        ..ToolContext::new(dep.workspace.cwd.clone(), Caller::new(MemberName::lead()))
    }
}

/// Creates the status line and the notifications of the session.
pub(super) fn status_line(
    app: &App,
    parts: &LeadParts,
    terminal: &LeadTerminal,
) -> Result<StatusLine> {
    let claude = ClaudeSettings::load(&app.root, &app.env.cwd, app.env.home().as_deref())?;
    let settings = (*app.settings).clone().with(claude.given(&app.env))?;
    if let Some(console) = terminal.console() {
        console.set_editor_mode(settings.editor_mode);
        console.set_escape_time(escape_time(&app.env));
    }
    terminal.set_alert(Alert {
        bell: settings.notify_bell,
        osc: desktop_alert(&app.env).filter(|_| settings.notify_osc),
        sets_title: settings.notify_osc && desktop_alert(&app.env).is_some(),
        in_tmux: app.env.get("TMUX").is_some(),
    });
    let spawn_context = &parts.spawn_context;
    let model = spawn_context.runtime.model.rsplit('/').next();
    let own = claude.status_line(app.is_trusted()?);
    let of_repository = claude.has_repository_status_line(app.is_trusted()?);
    let own = own.map(|command| {
        let agent = lead_sandbox(app, parts);
        let env = app.env.variables();
        let env = env.map(|(name, value)| (name.to_owned(), value.to_owned()));
        StatusCommand::new(command, parts, agent, of_repository, env.collect())
    });
    let mut session = SessionStatus::new(
        model.unwrap_or(&spawn_context.runtime.model).to_owned(),
        spawn_context.permissions.mode,
        None,
    );
    session.is_coordinator = parts.is_coordinator;
    Ok(StatusLine::new(
        terminal.clone(),
        spawn_context.workspace.cwd.clone(),
        settings.notify_command,
        Arc::clone(&parts.services.spending),
        session,
        own,
    ))
}

/// Returns how this terminal shows a desktop notification.
fn desktop_alert(env: &Environment) -> Option<DesktopAlert> {
    let is_kitty = env.get("KITTY_WINDOW_ID").is_some();
    match env.get("TERM").unwrap_or_default() {
        "" | "dumb" | "linux" => None,
        _ if is_kitty => Some(DesktopAlert::Kitty),
        term if term.starts_with("rxvt") || term.starts_with("foot") => Some(DesktopAlert::Rxvt),
        _ => Some(DesktopAlert::Iterm),
    }
}

/// Answers requests in a lead's terminal.
struct LeadHost {
    commands: Arc<TerminalCommands>,
    terminal: LeadTerminal,
    window: WindowMark,
}

impl QuestionHost for LeadHost {
    fn team(&self) -> Option<TeamName> {
        self.commands.team()
    }

    fn answer(&self, request: &RequestRecord, answer: KeyAnswer, why: &str) {
        let command = answer.command(request, why);
        match answer {
            KeyAnswer::Edit => self.commands.show_edit(&self.terminal, &command),
            _ => self.commands.show_run(&command),
        }
    }

    fn can_edit(&self) -> bool {
        true
    }

    fn has_screen(&self) -> bool {
        !self.terminal.is_plain()
    }

    fn refusal(&self) -> Option<String> {
        self.commands.refusal()
    }

    fn ask(&self, request: Option<&DialogRequest>) -> bool {
        let dialog = request.map(|request| request.dialog.clone());
        if let Some(dialog) = &dialog {
            self.commands.status.run_command(&dialog.question);
        }
        if let Some(dialog) = dialog.as_ref().filter(|_| self.terminal.is_plain()) {
            self.commands.show(text_of(dialog));
        }
        self.terminal.ask(dialog, UNARMED);
        true
    }

    fn has_teammates(&self) -> bool {
        let config = self.commands.config();
        config.is_some_and(|config| config.teammates().next().is_some())
    }

    fn color(&self, member: &MemberName) -> Option<Color> {
        self.commands.config()?.member(member)?.known_color()
    }

    fn waiting(&self, open: usize, postponed: usize) {
        self.commands.status.set_requests(open, postponed);
        self.window.set(open > 0);
    }
}

/// Returns the command of a line that opens the person's editor: `/approve p3 --edit`.
fn editing(line: &str) -> Option<&str> {
    let (name, rest) = command_in(line)?;
    let edits = name == "approve" && rest.split_whitespace().any(|word| word == "--edit");
    edits.then(|| line.trim().trim_start_matches('/'))
}

/// Returns whether the lead answers an input in a turn. Commands to the lead take effect between
/// two turns in any case.
fn starts_turn(input: &PaneInput) -> bool {
    match input {
        PaneInput::Line(line) => {
            let name = command_in(line).map(|(name, _)| name);
            !matches!(name, Some("clear" | "compact" | "model"))
        }
        PaneInput::Prompt { .. } => true,
        _ => false,
    }
}

pub(super) struct Typist {
    history: InputHistory,
    pub(super) queue: Arc<QueuedLines>,
    panel: PanelActions,
    /// Notified when the team panel should show the present state.
    team_look: Arc<Notify>,
    pub(super) commands: Arc<TerminalCommands>,
    request_keys: Mutex<RequestKeys>,
    terminal: LeadTerminal,
    end: Arc<Notify>,
    /// The window of the terminal, which is marked while questions wait.
    pub(super) window: WindowMark,
    runtime: Handle,
    last_esc: Mutex<Option<Instant>>,
}

impl Typist {
    fn take(&self, input: PaneInput) {
        if input == PaneInput::Interrupt && self.commands.lines.stop() {
            return;
        }
        let Some(input) = self.request_keys.lock().take(input) else {
            return;
        };
        let input = match input {
            PaneInput::Shutdown => return self.end.notify_one(),
            PaneInput::Interrupt if self.is_second_esc() => return self.commands.pick_prompt(),
            PaneInput::TeamPanel => return self.team_look.notify_one(),
            PaneInput::Panel { action, subject } => return self.panel.act(action, &subject),
            PaneInput::Message { to, text } => return self.panel.message(&to, &text),
            PaneInput::Picked { list, item } => {
                return item.into_iter().for_each(|item| self.picked(&list, &item));
            }
            PaneInput::Expand => return self.commands.page_transcript(),
            PaneInput::CycleMode => self.commands.mode_input(None),
            PaneInput::Edit(text) => return self.commands.edit(&self.terminal, &text),
            PaneInput::PasteImage => return self.paste_image(),
            PaneInput::TakeBack => return self.take_back(),
            PaneInput::SendNow(line) if line.is_empty() => return self.queue.send_all(),
            PaneInput::SendNow(line) => match self.take_line(self.with_paths(&line)) {
                Some(input) => input,
                None => return,
            },
            PaneInput::Line(line) => {
                let line = self.with_paths(&line);
                match self.take_line(line.clone()) {
                    Some(input) if starts_turn(&input) => return self.queue.send(line, input),
                    Some(input) => input,
                    None => return,
                }
            }
            input => input,
        };
        // A stopped lead no longer receives.
        self.commands.lead.send(input).ok();
    }

    fn with_paths(&self, line: &str) -> String {
        self.commands.images.with_paths(line)
    }

    /// Runs a line that is a command. Returns the input for the lead, if any.
    fn take_line(&self, line: String) -> Option<PaneInput> {
        self.history.add(&line);
        let shell = line.strip_prefix('!').map(str::trim);
        if let Some(shell) = shell.filter(|_| self.commands.is_interactive) {
            match shell {
                "" => self.commands.show(NO_SHELL_LINE.to_owned()),
                shell => self.run_shell(shell.to_owned()),
            }
            return None;
        }
        if self.terminal.console().is_some() && !self.commands.is_for_lead(&line) {
            // Otherwise nobody could tell whose output follows.
            self.commands.notice(line.clone());
        }
        if let Some(command) = editing(&line) {
            self.commands.show_edit(&self.terminal, command);
            return None;
        }
        match self.commands.take(line) {
            Typed::Prompt(line) => Some(PaneInput::Line(line)),
            Typed::Input(input) => Some(input),
            Typed::Quit => {
                self.end.notify_one();
                None
            }
            Typed::Done => None,
        }
    }

    /// Returns the last queued line to the input line.
    fn take_back(&self) {
        if let Some(console) = self.terminal.console()
            && let Some(line) = self.queue.take_back()
        {
            console.set_text(&line);
        }
    }

    /// Attaches the image in the clipboard to the prompt. The program that reads it may take time.
    fn paste_image(&self) {
        let Some(console) = self.terminal.console().cloned() else {
            return;
        };
        if !self.commands.is_interactive {
            return self.commands.notice(NO_IMAGES.to_owned());
        }
        let commands = Arc::clone(&self.commands);
        self.runtime.spawn(async move {
            match commands.save_clipboard_image().await {
                Ok(path) => console.paste(&path),
                Err(why) => commands.notice(why),
            }
        });
    }

    /// Returns whether Esc was pressed twice on an empty line.
    fn is_second_esc(&self) -> bool {
        let now = Instant::now();
        let before = self.last_esc.lock().replace(now);
        let is_empty = (self.terminal.console()).is_some_and(|console| console.text().is_empty());
        self.commands.is_interactive
            && is_empty
            && before.is_some_and(|before| now - before < DOUBLE_ESC)
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
            self.commands
                .lead
                .send(PaneInput::Rewind { line, scope })
                .ok();
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
        *self.commands.app.next_session.lock() = Some(session);
        self.end.notify_one();
    }

    /// Runs an initial prompt as typed input if it is a command; returns any other prompt.
    pub(super) fn take_command(self: Arc<Self>, prompt: String) -> Option<String> {
        if !prompt.starts_with('/') {
            return Some(prompt);
        }
        // A prompt file may run shell commands that take time.
        std::thread::spawn(move || self.take(PaneInput::Line(prompt)));
        None
    }

    /// Runs a shell command on a separate thread, so that input is still read.
    fn run_shell(&self, line: String) {
        let commands = Arc::clone(&self.commands);
        std::thread::spawn(move || {
            if let Some(text) = commands.shell(&line) {
                commands.lead.send(PaneInput::Context(text)).ok();
            }
        });
    }
}
