//! Commands that a person types into the terminal of a lead: `/` and any command of swarm.
//!
//! They run in this process, for the lead's team, in the name of whoever started the lead. Their output is drawn with the
//! lead's work. The model does not see them.

use std::ffi::OsString;
use std::sync::Arc;

use clap::{CommandFactory as _, Parser as _};
use swarm_agent::EventSink;
use swarm_config::{AnswerInPlace, Environment, Settings, project_top};
use swarm_member::LeadParts;
use swarm_permissions::{ReadFilter, nearest};
use swarm_protocol::{AgentEvent, ErrorKind, PermissionMode, SessionId, TeamConfig, TeamName};
use swarm_store::blocking::TeamStore;
use swarm_supervisor::implicit_team_name;
use swarm_ui::{PaneInput, command_in};

use super::completion::complete;
use super::draft::Draft;
use super::person_shell::{ShellLines, edited};
use super::prompt_commands::PromptCommands;
use super::sessions::team_of;
use super::status_line::StatusLine;
use super::terminal::LeadTerminal;
use crate::app::App;
use crate::commands::command::{Args, Command};
use crate::commands::team::TeamCommand;
use crate::commands::{acting, misread};
use crate::entry::written_out;
use crate::environment;
use crate::failure::Failure;
use crate::identity::Acting;
use crate::output::{captured, failure_text};

/// Variables by which terminals say that other programs can type into them, and what those terminals are.
const SHARED_TERMINALS: [(&str, &str); 6] = [
    ("TMUX", "tmux"),
    ("STY", "screen"),
    ("ZELLIJ", "zellij"),
    ("KITTY_LISTEN_ON", "kitty with remote control"),
    ("WEZTERM_UNIX_SOCKET", "WezTerm"),
    ("NVIM", "Neovim"),
];

/// What can be typed, besides prompts.
const HELP: &str = "\
/status, /brief, /log         members, tasks and what happened
/peek NAME, /send NAME TEXT   show a member's pane, send it a message
/task list, /task create …    the task list
/requests, /approve, /deny    permission requests
/COMMAND --help               help for any command in `swarm help`
/model [NAME], /mode [MODE]   show or change the model or the permission mode
/context, /cost               share of the context window, tokens used
/compact [INSTRUCTIONS]       replace the conversation by a summary
/mcp__SERVER__PROMPT [ARG …]  send the prompt of an MCP server to the lead
/SKILL [ARGUMENTS]            have the lead follow a skill
/clear                        start a new conversation
/NAME                         the prompt in .claude/commands/NAME.md
!COMMAND                      run a command in your own shell
/quit                         end the session and shut the team down

Esc      interrupt the lead       Alt-Enter  new line
Ctrl-C   empty the line, or       Up, Down   earlier lines
         interrupt; twice: stop   Ctrl-R     search earlier lines
Ctrl-D   end the session          Tab        complete / and @
Shift-Tab  next permission mode   Ctrl-G     write in your editor
Ctrl-O   last result in full      Ctrl-B     sub-agents to the background
Ctrl-X   as /compact";

/// What commands say that need a team.
const NO_TEAM: &str = "this lead has no team yet; it creates one when it needs one";

/// What a line is that was typed.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Typed {
    /// A prompt to the lead.
    Prompt(String),
    /// Something else for the lead.
    Input(PaneInput),
    /// The end of the session.
    Quit,
    /// A command, which has run.
    Done,
}

/// Whether swarm has a command of this name.
fn is_command(name: &str) -> bool {
    Args::command().find_subcommand(name).is_some()
}

/// What runs the commands of a lead's terminal.
pub(super) struct TerminalCommands {
    store: Arc<dyn TeamStore>,
    view: Arc<dyn EventSink>,
    session: SessionId,
    /// The team that the lead creates where the model names none.
    implicit: TeamName,
    acting: Acting,
    /// The names of skills, which are prompts to the lead.
    skills: Vec<String>,
    settings: Settings,
    env: Environment,
    prompts: PromptCommands,
    lines: Arc<ShellLines>,
    status: Arc<StatusLine>,
    draft: Draft,
}

impl TerminalCommands {
    /// For the lead that begins with these parts.
    ///
    /// # Errors
    /// Where it cannot be said who acts.
    pub(super) fn new(
        app: &App,
        parts: &LeadParts,
        status: Arc<StatusLine>,
        lines: &Arc<ShellLines>,
    ) -> Result<Self, Failure> {
        let implicit = match &parts.team {
            Some(team) => team.clone(),
            None => implicit_team_name(parts.session)?,
        };
        let acting = whoever_types(app, acting::find(app)?);
        let cwd = &parts.spawn_context.cwd;
        let mut env = app.env.clone();
        env.cwd.clone_from(cwd);
        let prompts = PromptCommands::new(
            (&env, lines),
            (&app.root, &project_top(&app.root, cwd)),
            (app.is_trusted()?, acting == Acting::Person),
            ReadFilter::denials(&parts.rules, cwd, parts.home.as_deref()),
        );
        Ok(Self {
            store: Arc::clone(&app.store),
            view: Arc::clone(&parts.events),
            session: parts.session,
            implicit,
            acting,
            skills: (parts.spawn_context.agent_config.skills.iter())
                .map(|skill| skill.name.clone())
                .collect(),
            settings: app.settings.clone(),
            prompts,
            lines: Arc::clone(lines),
            status,
            draft: Draft::new(&app.root, cwd),
            env,
        })
    }

    /// The draft of this directory.
    pub(super) fn draft(&self) -> &Draft {
        &self.draft
    }

    /// What Tab completes of a text.
    pub(super) fn complete(&self, text: &str) -> (usize, Vec<String>) {
        let names = self.names();
        let config = self
            .team()
            .and_then(|team| self.store.team(&team).config().ok());
        let members = config.iter().flat_map(TeamConfig::names);
        let members: Vec<String> = members.map(|name| name.to_string()).collect();
        complete(text, &self.env.cwd, &names, &members)
    }

    /// The names of all commands that can be typed, sorted.
    fn names(&self) -> Vec<String> {
        let own = ["clear", "context", "cost", "help", "mode", "model", "quit"];
        let mut names: Vec<String> = own.map(str::to_owned).to_vec();
        let known = Args::command();
        let known = known.get_subcommands().filter(|known| !known.is_hide_set());
        names.extend(known.map(|known| known.get_name().to_owned()));
        names.extend(self.prompts.names());
        names.extend(self.skills.iter().cloned());
        names.sort();
        names.dedup();
        names
    }

    /// The error for a command that does not exist.
    fn unknown(&self, name: &str) -> String {
        let names = self.names();
        let tip = match nearest(name, names.iter().map(String::as_str)) {
            Some(meant) => format!("did you mean /{meant}? "),
            None => String::new(),
        };
        format!("unknown command /{name}: {tip}/help lists the commands")
    }

    /// The wish for another mode, or for the next one. It may be above the mode with which the session began where only a
    /// person can type and the machine's policy allows it.
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

    /// Runs a line in the person's own shell, shows what it prints, and returns it for the conversation. Refused where
    /// agents can type: it would run with the person's permissions.
    pub(super) fn shell(&self, line: &str) -> Option<String> {
        if let Acting::PersonOrAgent(why) = &self.acting {
            self.show(format!("`!{line}` was not run: {why}"));
            return None;
        }
        if !self.may_answer() {
            self.show(format!("`!{line}` was not run: only people can run shell commands"));
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

    /// Stops the shell lines that run. Returns whether any did.
    pub(super) fn stop_lines(&self) -> bool {
        self.lines.stop()
    }

    /// Has the person write on in their editor.
    pub(super) fn edit(&self, terminal: &LeadTerminal, text: &str) {
        let edited = terminal.lend(|| edited(&self.env, &self.draft, text));
        match (edited, terminal.console()) {
            (Ok(text), Some(console)) => console.set_text(&text),
            (Ok(_), None) => {}
            (Err(error), _) => self.show(format!("the editor failed: {error}")),
        }
    }

    /// Whether permission requests may be answered here.
    pub(super) fn may_answer(&self) -> bool {
        self.acting == Acting::Person
    }

    /// The team of the lead, if it has one by now.
    pub(super) fn team(&self) -> Option<TeamName> {
        team_of(&*self.store, self.session)
    }

    /// Runs a command and shows what it prints.
    pub(super) fn show_run(&self, words: &str) {
        self.show(self.run(words));
    }

    /// Runs a line if it is a command.
    pub(super) fn take(&self, line: String) -> Typed {
        match command_in(&line) {
            // The lead itself knows it.
            None | Some(("compact" | "model", _) | ("clear", "")) => return Typed::Prompt(line),
            Some(("mode", "")) => self.show(self.status.session()),
            Some(("mode", word)) => match word.parse() {
                Ok(mode) => return Typed::Input(self.mode_input(Some(mode))),
                Err(error) => self.show(error.to_string()),
            },
            Some(("cost" | "context", "")) => self.show(self.status.used()),
            Some(("status", "")) if self.team().is_none() => {
                self.show(format!("{}\n{NO_TEAM}", self.status.session()));
            }
            Some(("quit" | "exit", "")) => return Typed::Quit,
            Some(("help" | "", "")) => self.show(HELP.to_owned()),
            // The prompt of an MCP server.
            Some((name, _)) if name.starts_with("mcp__") => return Typed::Prompt(line),
            // A command of swarm hides a skill of its name.
            Some((name, _))
                if self.skills.iter().any(|skill| skill == name) && !is_command(name) =>
            {
                return Typed::Prompt(line);
            }
            Some((name, rest)) => match self.expanded(name, rest) {
                Some(Ok(prompt)) => return Typed::Prompt(prompt),
                Some(Err(why)) => self.show(why),
                None if !is_command(name) => self.show(self.unknown(name)),
                None => self.show_run(&format!("{name} {rest}")),
            },
        }
        Typed::Done
    }

    /// The prompt of a command of the project's or the person's own. A command of swarm is never replaced by one: what
    /// `/approve` does is not for a repository to say.
    fn expanded(&self, name: &str, rest: &str) -> Option<Result<String, String>> {
        (!is_command(name))
            .then(|| self.prompts.expand(name, rest))
            .flatten()
    }

    /// Shows a text with the lead's work.
    pub(super) fn show(&self, text: String) {
        self.view.emit(AgentEvent::CommandOutput { text });
    }

    /// What a command prints.
    fn run(&self, words: &str) -> String {
        let Some(words) = shlex::split(words) else {
            return format!("unclosed quotation mark: {words}");
        };
        if words.iter().any(|word| word == "-") {
            return "`-` would read this terminal; write the text into the command".to_owned();
        }
        let words = std::iter::once("swarm".to_owned()).chain(words);
        let words = written_out(words.map(OsString::from).collect(), false);
        let args = match Args::try_parse_from(&words) {
            Ok(args) => args,
            Err(error) => {
                let error = misread::with_tip(error, words.into_iter());
                return error.render().to_string();
            }
        };
        if let Command::Team(TeamCommand::Delete(_)) = args.command {
            return "the lead works in its team: ask it to delete the team, or end the session first".to_owned();
        }
        if args.command.keeps_running() {
            return "this command keeps running; run it in another terminal".to_owned();
        }
        let names_team = args.global.team.is_some();
        let (done, mut text) = captured(|| self.run_parsed(args));
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

    fn run_parsed(&self, mut args: Args) -> Result<(), Failure> {
        args.global.team.get_or_insert_with(|| {
            self.team()
                .unwrap_or_else(|| self.implicit.clone())
                .to_string()
        });
        let env = environment::read()?;
        let mut app = App::new(env, &args.global, &args.command.flags())?;
        app.acting = Some(self.acting.clone());
        args.command.run(&app).map(drop)
    }
}

/// Who types into this terminal. Into some, other programs can type as well, and so the agents of the team.
fn whoever_types(app: &App, acting: Acting) -> Acting {
    let shared = SHARED_TERMINALS
        .iter()
        .find(|(name, _)| app.env.get(name).is_some());
    let why = match (app.settings.answer_in_place, shared) {
        (AnswerInPlace::Always, _) | (AnswerInPlace::Auto, None) => return acting,
        (AnswerInPlace::Never, _) => "`permissions.answer_in_place` is `never`".to_owned(),
        (AnswerInPlace::Auto, Some((_, place))) => {
            format!("this terminal is in {place}, where an agent's shell can also type")
        }
    };
    match acting {
        Acting::Person => Acting::PersonOrAgent(why),
        acting => acting,
    }
}

impl Command {
    /// Whether it needs a terminal of its own: it ends only when it is told to, or is a lead itself.
    fn keeps_running(&self) -> bool {
        match self {
            Self::Run(_) | Self::Lead(_) | Self::Resume(_) | Self::Demo(_) | Self::Attach(_) => {
                true
            }
            // The editor would take the terminal.
            Self::Approve(args) => args.edit,
            Self::Status(args) => args.watch,
            Self::Logs(args) => args.follow,
            Self::Log(args) => args.follow,
            Self::Inbox(args) => args.follow,
            _ => false,
        }
    }
}
