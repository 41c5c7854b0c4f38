//! Commands in the terminal of a lead: `/` followed by any swarm command.
//!
//! They run in this process, on the lead's team, on behalf of the user who started the lead. Their
//! output is drawn with the lead's work. The model does not see them.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use swarm_agent::{EventSink, all_lead_sessions, find_transcript};
use swarm_config::{Environment, Settings, project_top};
use swarm_member::{LeadParts, SpendingMeter};
use swarm_permissions::{AgentConfig, ReadFilter, RuleSet, nearest};
use swarm_protocol::{
    AgentEvent, ErrorKind, MemberName, PermissionMode, SessionId, TeamConfig, TeamName,
};
use swarm_store::{BlockOn as _, TeamStore};
use swarm_supervisor::implicit_team_name;
use swarm_ui::{Console, Pager, PaneInput, TextDocument, Theme, command_in};
use tokio::sync::mpsc::UnboundedSender;

use super::attached_images::AttachedImages;
use super::completion::complete;
use super::configured;
use super::draft::Draft;
use super::panel_actions::PanelHost;
use super::person_shell::{ShellLines, edited};
use super::prompt_commands::PromptCommands;
use super::session_picker::{elsewhere, session_picker};
use super::sessions::team_of;
use super::status_line::StatusLine;
use super::terminal::LeadTerminal;
use super::terminal_actor::TerminalActor;
use super::transcript_document::TranscriptDocument;
use crate::app::App;
use crate::command_line::{CommandLine, RanCommand};
use crate::commands::acting;
use crate::commands::cost::session_text;
use crate::failure::Failure;
use crate::identity::Acting;
use crate::output::failure_text;

/// Text of `/help`.
const HELP: &str = "\
/status, /brief, /log         members, tasks and what happened
/peek NAME, /send NAME TEXT   show a member's pane, send it a message
/task list, /task create …    the task list
/requests, /approve, /deny    permission requests
/COMMAND --help               help for any command in `swarm help`
/model [NAME], /mode [MODE]   show or change the model or the permission mode
/plan [TASK]                  plan mode: the lead proposes a plan before it changes anything
/context, /cost               share of the context window, costs and budgets
/compact [INSTRUCTIONS]       replace the conversation by a summary
/mcp__SERVER__PROMPT [ARG …]  send the prompt of an MCP server to the lead
/SKILL [ARGUMENTS]            have the lead follow a skill
/clear                        start a new conversation
/export [FILE]                write the conversation to a file
/diff, /review [WHAT]         changes since the last commit; have the lead review them
/memory                       edit an instruction file
/hooks, /mcp, /skills         what is configured
/tasks                        the task list in the team panel
/rewind                       return to an earlier prompt, with or without the files
/resume                       continue an earlier conversation
/NAME                         the prompt in .claude/commands/NAME.md
!COMMAND                      run a command in your own shell
/quit                         end the session and shut the team down";

/// Text of `/help` about the keys of a terminal with a screen.
const KEYS: &str = "\
Esc      interrupt the lead;      Alt-Enter  new line
         twice: /rewind
Ctrl-C   empty the line, or       Up, Down   earlier lines
         interrupt; twice: stop   Ctrl-R     search earlier lines
Ctrl-D   end the session          Tab        complete / and @
Shift-Tab  next permission mode   Ctrl-G     write in your editor
Ctrl-O   whole conversation       Ctrl-B     sub-agents to the background
Ctrl-X   as /compact              Ctrl-T     team panel
Ctrl-V   attach the image in the clipboard

While the lead works, Enter queues a prompt, which is sent when the turn ends. Up on an empty
line takes the last one back; Ctrl-S sends a prompt now, or on an empty line all that is queued
(also Ctrl-Enter, in terminals that report it).

In the team panel: Enter shows the conversation of a member, m writes a message to it,
i interrupts it, p pauses it or lets it continue, c changes its permission mode, x shuts it
down, a shows its pane. t shows the tasks, Tab returns to the input line, Esc closes it.";

/// Commands that are not commands of `swarm` in a shell, without those of `configured`.
const OWN: [&str; 7] = [
    "clear", "context", "help", "mode", "model", "quit", "rewind",
];

/// Error of commands that need a team.
const NO_TEAM: &str = "this lead has no team yet; it creates one when it needs one";

/// Returns whether a line is `/plan`, with or without a task.
pub(super) fn is_plan(line: &str) -> bool {
    matches!(command_in(line), Some(("plan", _)))
}

/// The meaning of a typed line.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Typed {
    /// A prompt to the lead.
    Prompt(String),
    /// Other input for the lead.
    Input(PaneInput),
    /// The end of the session.
    Quit,
    /// A command, which has already run.
    Done,
}

/// Runs the commands of a lead's terminal.
pub(super) struct TerminalCommands {
    store: Arc<dyn TeamStore>,
    pub(super) root: PathBuf,
    view: Arc<dyn EventSink>,
    /// Input for the lead.
    pub(super) lead: UnboundedSender<PaneInput>,
    /// The screen with the pager, if any.
    pub(super) console: Option<Console>,
    pub(super) session: SessionId,
    /// Whether a person leads: the session can be left for another one.
    is_interactive: bool,
    /// Name of the team that the lead creates if the model does not choose one.
    implicit: TeamName,
    actor: TerminalActor,
    /// The configuration of the lead, with its skills, which are prompts to it.
    pub(super) agent_config: Arc<AgentConfig>,
    pub(super) settings: Settings,
    /// The permission rules of the lead at its start.
    pub(super) rules: RuleSet,
    pub(super) env: Environment,
    /// Where swarm commands run: the directory of the session, also if the lead has a worktree.
    command_cwd: PathBuf,
    pub(super) prompts: PromptCommands,
    pub(super) lines: Arc<ShellLines>,
    pub(super) status: Arc<StatusLine>,
    /// Full name of the model at the start.
    pub(super) model: String,
    spending: Arc<SpendingMeter>,
    draft: Draft,
    /// The images that were attached to prompts.
    pub(super) images: AttachedImages,
    command_line: Arc<dyn CommandLine>,
}

impl TerminalCommands {
    /// Creates the commands for a lead with these parts, which receives input from `lead`.
    ///
    /// # Errors
    /// Returns an error if the actor cannot be determined.
    pub(super) fn new(
        app: &App,
        parts: &LeadParts,
        terminal: &LeadTerminal,
        status: Arc<StatusLine>,
        lines: &Arc<ShellLines>,
        lead: UnboundedSender<PaneInput>,
    ) -> Result<Self, Failure> {
        let implicit = match &parts.team {
            Some(team) => team.clone(),
            None => implicit_team_name(parts.session)?,
        };
        let shell = &parts.spawn_context.agent_config.shell;
        let actor = TerminalActor::new(app, acting::find(app)?, Some(shell));
        let cwd = &parts.spawn_context.cwd;
        let mut env = app.env.clone();
        env.cwd.clone_from(cwd);
        let prompts = PromptCommands::new(
            (&env, lines),
            (&app.root, &project_top(&app.root, cwd)),
            app.is_trusted()?,
            ReadFilter::denials(&parts.rules, cwd, parts.home.as_deref()),
        );
        Ok(Self {
            store: Arc::clone(&app.store),
            root: app.root.clone(),
            view: Arc::clone(&parts.events),
            lead,
            console: terminal.console().cloned(),
            session: parts.session,
            is_interactive: parts.is_interactive,
            implicit,
            actor,
            agent_config: Arc::clone(&parts.spawn_context.agent_config),
            settings: app.settings.clone(),
            rules: parts.rules.clone(),
            prompts,
            lines: Arc::clone(lines),
            spending: Arc::clone(&parts.spending),
            status,
            model: parts.spawn_context.model.clone(),
            draft: Draft::new(&app.root, cwd),
            images: AttachedImages::new(cwd, app.env.home()),
            command_line: Arc::clone(&app.command_line),
            command_cwd: app.env.cwd.clone(),
            env,
        })
    }

    /// Returns the text that an earlier session in this directory left unsent.
    pub(super) fn draft(&self) -> Option<String> {
        self.draft.read()
    }

    /// Saves the unsent text.
    pub(super) fn keep_draft(&self, text: &str) {
        self.draft.keep(&self.images.with_paths(text));
    }

    /// Returns the Tab completions of a text.
    pub(super) fn complete(&self, text: &str) -> (usize, Vec<String>) {
        let names = self.names();
        let config = self.config();
        let members = config.iter().flat_map(TeamConfig::names);
        let members: Vec<String> = members.map(|name| name.to_string()).collect();
        complete(text, &self.env.cwd, &names, &members)
    }

    /// Returns the names of all commands, sorted.
    fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = OWN.map(str::to_owned).to_vec();
        names.extend(self.command_line.names());
        names.extend(self.prompts.names());
        names.extend(
            self.agent_config
                .skills
                .iter()
                .map(|skill| skill.name.clone()),
        );
        names.extend(configured::NAMES.map(str::to_owned));
        names.sort();
        names.dedup();
        names
    }

    /// Returns the error for a command that does not exist, or not with these arguments.
    fn unknown(&self, name: &str, rest: &str) -> String {
        let names = self.names();
        if names.iter().any(|known| known == name) {
            let why = match rest {
                "" => "is not available here",
                _ => "takes no arguments",
            };
            return format!("`/{name}` {why}");
        }
        let tip = match nearest(name, names.iter().map(String::as_str)) {
            Some(meant) => format!("did you mean /{meant}? "),
            None => String::new(),
        };
        format!("unknown command /{name}: {tip}/help lists the commands")
    }

    /// Requests another mode, or the next one. It may exceed the initial mode of the session if
    /// only a person can type here and the machine's policy allows it.
    pub(super) fn mode_input(&self, mode: Option<PermissionMode>) -> PaneInput {
        let highest = mode.unwrap_or(PermissionMode::AcceptEdits);
        let is_permitted = self
            .settings
            .permit("permissions.mode", highest.name())
            .is_ok();
        PaneInput::Mode {
            mode,
            may_raise: self.may_answer() && is_permitted,
        }
    }

    /// Runs a line in the person's shell, shows its output and returns it for the conversation.
    /// Refused where agents can type, because it runs with the person's permissions.
    pub(super) fn shell(&self, line: &str) -> Option<String> {
        if let Some(why) = self.why_no_shell() {
            self.show(format!("`!{line}` was not run: {why}"));
            return None;
        }
        self.show(format!("! {line}"));
        let ran = self.lines.run(&self.env, &self.env.cwd, line);
        let outcome = if ran.ok { "" } else { "[it failed]" };
        let shown: Vec<&str> = [ran.text.as_str(), outcome]
            .into_iter()
            .filter(|text| !text.is_empty())
            .collect();
        if !shown.is_empty() {
            self.show(shown.join("\n"));
        }
        Some(ran.for_model(line))
    }

    /// Returns why no command may run with the person's permissions here.
    pub(super) fn why_no_shell(&self) -> Option<String> {
        match self.acting() {
            Acting::Person => None,
            Acting::PersonOrAgent(why) => Some(why),
            _ => Some("only people can run shell commands".to_owned()),
        }
    }

    /// Stops running shell commands. Returns whether any command was running.
    pub(super) fn stop_lines(&self) -> bool {
        self.lines.stop()
    }

    /// Opens the text in the person's editor.
    pub(super) fn edit(&self, terminal: &LeadTerminal, text: &str) {
        let edited = terminal.lend(|| edited(&self.env, &self.draft, text));
        match (edited, terminal.console()) {
            (Ok(text), Some(console)) => console.set_text(&text),
            (Ok(_), None) => {}
            (Err(failure), _) => self.show(failure_text(&failure)),
        }
    }

    /// Returns whether permission requests may be answered here.
    pub(super) fn may_answer(&self) -> bool {
        self.acting() == Acting::Person
    }

    /// Returns whether dialogs show permission requests here.
    pub(super) fn shows_dialogs(&self) -> bool {
        self.actor.shows_dialogs()
    }

    fn acting(&self) -> Acting {
        self.actor.now(self.team().as_ref())
    }

    /// Returns the team of the lead, if it has created one.
    pub(super) fn team(&self) -> Option<TeamName> {
        team_of(&*self.store, self.session)
    }

    /// Runs a command and shows its output.
    pub(super) fn show_run(&self, words: &str) {
        self.show_long(&format!("/{}", words.trim()), &self.run(words));
    }

    /// Shows a text, in the pager if it is longer than the screen.
    pub(super) fn show_long(&self, title: &str, text: &str) {
        let lines = text.trim_end().lines().count();
        match &self.console {
            Some(console) if console.is_longer_than_screen(lines) => {
                console.page(Pager::new(title, Box::new(TextDocument::new(text))));
                let line = format!("{title}: {lines} lines, shown in the pager");
                self.view.emit(AgentEvent::Notice { line });
            }
            _ => self.show(text.to_owned()),
        }
    }

    fn help(&self) {
        match &self.console {
            Some(console) => {
                let text = TextDocument::new(&format!("{HELP}\n\n{KEYS}"));
                console.page(Pager::new("help", Box::new(text)));
            }
            None => self.show(HELP.to_owned()),
        }
    }

    /// Shows the whole conversation of the lead in the pager.
    pub(super) fn page_transcript(&self) {
        self.page_conversation("transcript", &self.env.cwd, self.session);
    }

    fn page_conversation(&self, title: &str, cwd: &Path, session: SessionId) {
        let path = find_transcript(&self.root, cwd, session);
        let Some(console) = &self.console else { return };
        match TranscriptDocument::open(&path, cwd, self.env.home()) {
            Ok(document) => console.page(Pager::new(title, Box::new(document)).from_end()),
            Err(error) => self.show(format!("the {title} cannot be shown: {error}")),
        }
    }

    /// Shows the earlier conversations of leads, to continue one.
    fn pick_session(&self) {
        let Some(console) = self.console_for("resume") else {
            return;
        };
        let sessions = all_lead_sessions(&self.root);
        console.pick(session_picker(&*self.store, &self.env.cwd, &sessions));
    }

    /// Returns a picked conversation, if it can be continued in this directory. Otherwise shows how
    /// to continue it.
    pub(super) fn session_here(&self, id: &str) -> Option<SessionId> {
        let found = all_lead_sessions(&self.root)
            .into_iter()
            .find(|found| found.id.to_string() == id)?;
        if found.id == self.session {
            self.show("this is the current conversation".to_owned());
            return None;
        }
        match elsewhere(&found, &self.env.cwd) {
            Some(command) => {
                self.show(command);
                None
            }
            None => Some(found.id),
        }
    }

    /// Returns the screen for a command that needs it, or shows that there is none.
    pub(super) fn console_for(&self, command: &str) -> Option<&Console> {
        if self.console.is_none() {
            self.show(format!(
                "/{command} is available only in a terminal with a screen"
            ));
        }
        self.console.as_ref()
    }

    fn config(&self) -> Option<TeamConfig> {
        self.store.team(&self.team()?).config().block_on().ok()
    }

    /// Returns whether a line is for the lead: a prompt, or a command that the lead handles itself.
    /// Other commands run while the lead works.
    pub(super) fn is_for_lead(&self, line: &str) -> bool {
        match command_in(line) {
            None | Some(("clear" | "compact" | "model" | "review", _)) => true,
            Some(("plan", task)) if !task.is_empty() => !is_plan(task) && self.is_for_lead(task),
            Some(("exit" | "", _)) => false,
            Some((name, _)) => {
                let is_own = OWN.contains(&name) || configured::NAMES.contains(&name);
                !is_own && !self.command_line.has(name)
            }
        }
    }

    /// Runs a line if it is a command.
    pub(super) fn take(&self, line: String) -> Typed {
        let command = command_in(&line);
        if let Some(typed) = command.and_then(|(name, rest)| self.session_command(name, rest)) {
            return typed;
        }
        match command_in(&line) {
            // The lead handles these itself.
            None | Some(("compact" | "model", _) | ("clear", "")) => return Typed::Prompt(line),
            Some(("mode", "")) => self.show(self.status.session()),
            Some(("mode", word)) => match word.parse() {
                Ok(mode) => return Typed::Input(self.mode_input(Some(mode))),
                Err(error) => self.show(error.to_string()),
            },
            Some(("context", "")) => self.show(self.status.used()),
            Some(("cost", "")) if self.team().is_none() => {
                let theme = Theme::PLAIN;
                self.show(session_text(&self.spending.spending(), theme));
            }
            Some(("status", "")) if self.team().is_none() => {
                self.show(format!("{}\n{NO_TEAM}", self.status.session()));
            }
            Some(("quit" | "exit", "")) => return Typed::Quit,
            Some(("help" | "", "")) => self.help(),
            Some(("resume", "")) if self.is_interactive => self.pick_session(),
            Some(("rewind", "")) if self.is_interactive => self.pick_prompt(),
            Some(("team", "")) => {
                if let Some(console) = self.console_for("team") {
                    console.open_team(false);
                }
            }
            // The prompt of an MCP server.
            Some((name, _)) if name.starts_with("mcp__") => return Typed::Prompt(line),
            // A swarm command takes precedence over a skill with the same name.
            Some((name, _))
                if self
                    .agent_config
                    .skills
                    .iter()
                    .any(|skill| skill.name == name)
                    && !self.command_line.has(name) =>
            {
                return Typed::Prompt(line);
            }
            Some((name, rest)) => match self.expanded(name, rest) {
                Some(Ok(prompt)) => return Typed::Input(prompt),
                Some(Err(why)) => self.show(why),
                None if !self.command_line.has(name) => self.show(self.unknown(name, rest)),
                None => self.show_run(&format!("{name} {rest}")),
            },
        }
        Typed::Done
    }

    /// Returns the prompt of a custom command. It never replaces a swarm command other than
    /// `review`, so that a repository cannot redefine `/approve`.
    fn expanded(&self, name: &str, rest: &str) -> Option<Result<PaneInput, String>> {
        (name == "review" || !self.command_line.has(name))
            .then(|| self.prompts.expand(name, rest, self.may_answer()))
            .flatten()
    }

    /// Shows a text with the lead's work.
    pub(super) fn show(&self, text: String) {
        self.view.emit(AgentEvent::CommandOutput { text });
    }

    /// Shows a line with the lead's work.
    pub(super) fn notice(&self, line: String) {
        self.view.emit(AgentEvent::Notice { line });
    }

    /// Runs a command that opens the person's editor, and shows its output.
    pub(super) fn show_edit(&self, terminal: &LeadTerminal, words: &str) {
        let text = terminal.lend(|| self.output(words, true));
        self.show_long(&format!("/{}", words.trim()), &text);
    }

    /// Returns the output of a command.
    pub(super) fn run(&self, words: &str) -> String {
        self.output(words, false)
    }

    fn output(&self, words: &str, has_terminal: bool) -> String {
        let team = || self.team().unwrap_or_else(|| self.implicit.clone());
        let RanCommand {
            done,
            mut text,
            names_team,
        } = (self.command_line).run(
            words,
            &self.command_cwd,
            &team,
            &self.acting(),
            has_terminal,
        );
        match done {
            Err(failure)
                if failure.kind == ErrorKind::NotFound && !names_team && self.team().is_none() =>
            {
                text.push_str(NO_TEAM);
            }
            Err(failure) => text.push_str(&failure_text(&failure)),
            Ok(()) => {}
        }
        text
    }
}

impl PanelHost for TerminalCommands {
    fn team(&self) -> Option<TeamName> {
        self.team()
    }

    fn show(&self, text: String) {
        self.show(text);
    }

    fn run(&self, command: &str) {
        self.show_run(command);
    }

    fn page_lead(&self) {
        self.page_transcript();
    }

    fn page_member(&self, name: &MemberName) {
        let config = self.config();
        let member = config.as_ref().and_then(|config| config.member(name));
        match member.and_then(|member| Some((member, member.session()?))) {
            Some((member, session)) => {
                self.page_conversation(&format!("transcript of {name}"), &member.cwd, session);
            }
            None => self.show_run(&format!("logs {name}")),
        }
    }

    fn is_paused(&self, name: &MemberName) -> bool {
        let views = self
            .team()
            .and_then(|team| self.store.team(&team).member_view().block_on().ok());
        let mut views = views.into_iter().flatten();
        views.any(|view| view.member.name == *name && view.pause.is_some())
    }

    fn mode_of(&self, name: &MemberName) -> Option<PermissionMode> {
        self.config()?.member(name)?.known_mode()
    }

    fn next_mode_of_lead(&self) -> PaneInput {
        self.mode_input(None)
    }
}
