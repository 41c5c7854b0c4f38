//! Commands in the terminal of a lead: `/` followed by any swarm command.
//!
//! They run in this process, on the lead's team, on behalf of the user who started the lead. Their
//! output is drawn with the lead's work. The model does not see them.

use std::sync::Arc;

use parking_lot::RwLock;
use swarm_agent::EventSink;
use swarm_config::{ClaudeSettings, Environment, project_top};
use swarm_member::{LeadParts, SpendingMeter};
use swarm_model::ModelName;
use swarm_permissions::{AgentConfig, ReadFilter, RuleSet, nearest};
use swarm_protocol::{PermissionMode, SessionId, TeamConfig, TeamName};
use swarm_store::BlockOn as _;
use swarm_supervisor::implicit_team_name;
use swarm_ui::{Console, PaneInput, Theme, command_in};
use tokio::sync::mpsc::UnboundedSender;

use super::attached_images::AttachedImages;
use super::completion::complete;
use super::configured;
use super::draft::Draft;
use super::person_shell::{ShellLines, edited};
use super::prompt_commands::PromptCommands;
use super::sessions::team_of;
use super::status_line::StatusLine;
use super::terminal::LeadTerminal;
use super::terminal_actor::TerminalActor;
use crate::app::App;
use crate::commands::cost::session_text;
use crate::failure::Result;
use crate::identity::Acting;
use crate::output::failure_text;

/// Commands that are not commands of `swarm` in a shell, without those of `configured`.
const OWN: [&str; 7] = [
    "clear", "context", "help", "mode", "model", "quit", "rewind",
];

/// Error of commands that need a team.
pub(super) const NO_TEAM: &str = "this lead has no team yet; it creates one when it needs one";

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
    pub(super) app: App,
    pub(super) view: Arc<dyn EventSink>,
    pub(super) lead: UnboundedSender<PaneInput>,
    /// The screen with the pager, if any.
    pub(super) console: Option<Console>,
    pub(super) session: SessionId,
    /// Whether a person leads: the session can be left for another one.
    pub(super) is_interactive: bool,
    /// Name of the team that the lead creates if the model does not choose one.
    pub(super) implicit: TeamName,
    pub(super) actor: TerminalActor,
    /// The configuration of the lead, with its skills, which are prompts to it.
    pub(super) agent_config: Arc<AgentConfig>,
    /// The permission rules of the lead in force; `None` until it is assembled.
    pub(super) rules: Arc<RwLock<Option<RuleSet>>>,
    /// The environment in the lead's directory. Commands of swarm run in that of the session, also if
    /// the lead has a worktree.
    pub(super) env: Environment,
    pub(super) prompts: PromptCommands,
    pub(super) lines: Arc<ShellLines>,
    pub(super) status: Arc<StatusLine>,
    /// Full name of the model at the start.
    pub(super) model: String,
    spending: Arc<SpendingMeter>,
    /// The text that an earlier session in this directory left unsent.
    pub(super) draft: Draft,
    pub(super) images: AttachedImages,
}

impl TerminalCommands {
    /// Creates the commands for a lead with these parts, which receives input from `lead`.
    pub(super) fn new(
        app: &App,
        parts: &LeadParts,
        terminal: &LeadTerminal,
        status: Arc<StatusLine>,
        lines: &Arc<ShellLines>,
        lead: UnboundedSender<PaneInput>,
    ) -> Result<Self> {
        let implicit = match &parts.team {
            Some(team) => team.clone(),
            None => implicit_team_name(parts.session)?,
        };
        let shell = &parts.spawn_context.definition.config.shell;
        let actor = TerminalActor::new(app, app.acting()?, Some(shell));
        let cwd = &parts.spawn_context.workspace.cwd;
        let mut env = app.env.clone();
        env.cwd.clone_from(cwd);
        let trusted = app.is_trusted()?;
        let claude = ClaudeSettings::load(&app.root, cwd, parts.home.as_deref())?;
        let prompts = PromptCommands::new(
            (&env, lines),
            (&app.root, &project_top(&app.root, cwd)),
            trusted,
            &claude.active_plugins(trusted),
            ReadFilter::denials(&parts.rules, cwd, parts.home.as_deref()),
        );
        Ok(Self {
            app: app.clone(),
            view: Arc::clone(&parts.events),
            lead,
            console: terminal.console().cloned(),
            session: parts.session,
            is_interactive: parts.is_interactive,
            implicit,
            actor,
            agent_config: Arc::clone(&parts.spawn_context.definition.config),
            rules: Arc::clone(&parts.rules_in_force),
            prompts,
            lines: Arc::clone(lines),
            spending: Arc::clone(&parts.services.spending),
            status,
            model: parts.spawn_context.runtime.model.clone(),
            draft: Draft::new(&app.root, cwd),
            images: AttachedImages::new(cwd, app.env.home()),
            env,
        })
    }

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
        names.extend(self.app.command_line.names());
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
            .app
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

    /// Returns why no key answers requests here at this moment.
    pub(super) fn refusal(&self) -> Option<String> {
        match self.acting() {
            Acting::PersonOrAgent(why) => Some(why),
            _ => None,
        }
    }

    pub(super) fn acting(&self) -> Acting {
        self.actor.now(self.team().as_ref())
    }

    /// Returns the team of the lead, if it has created one.
    pub(super) fn team(&self) -> Option<TeamName> {
        team_of(&*self.app.store, self.session)
    }

    /// Returns the full name of the lead's current model. Events have only its id; unless it is one
    /// of Anthropic's, the provider is taken to be that of the model at the start.
    pub(super) fn current_model(&self) -> String {
        let shown = self.status.model();
        if self.model.ends_with(&shown) {
            return self.model.clone();
        }
        let (provider, _) = self.model.split_once('/').unwrap_or_default();
        ModelName::parse(&shown).map_or_else(
            |_not_anthropic| format!("{provider}/{shown}"),
            |full| full.to_string(),
        )
    }

    pub(super) fn config(&self) -> Option<TeamConfig> {
        self.app.store.team(&self.team()?).config().block_on().ok()
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
                !is_own && !self.app.command_line.has(name)
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
            Some(("mode", "")) => self.show_mode(),
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
            Some(("doctor", "")) => self.show_doctor(),
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
                    && !self.app.command_line.has(name) =>
            {
                return Typed::Prompt(line);
            }
            Some((name, rest)) => match self.expanded(name, rest) {
                Some(Ok(prompt)) => return Typed::Input(prompt),
                Some(Err(why)) => self.show(why),
                None if !self.app.command_line.has(name) => self.show(self.unknown(name, rest)),
                None => self.show_run(&format!("{name} {rest}")),
            },
        }
        Typed::Done
    }

    /// Returns the prompt of a custom command. It never replaces a swarm command other than
    /// `review`, so that a repository cannot redefine `/approve`.
    fn expanded(&self, name: &str, rest: &str) -> Option<Result<PaneInput, String>> {
        (name == "review" || !self.app.command_line.has(name))
            .then(|| self.prompts.expand(name, rest, self.may_answer()))
            .flatten()
    }
}
