//! Input from a person in the member's terminal.
//!
//! A line becomes a message in the member's own inbox, so it is as durable as any other message. A
//! teammate gets it in the name of the lead, and a lead in the name of the person, as from `swarm
//! send`. A lead without a team has no inbox and gets it directly. Input cannot answer requests or
//! grant permissions, because other programs, such as an agent's shell through tmux, can send keys
//! to the terminal.

use std::collections::VecDeque;
use std::mem::Discriminant;
use std::sync::Arc;

use swarm_agent::{EventSink as _, Rights, or_never};
use swarm_mcp::McpServers;
use swarm_protocol::{
    AgentEvent, LEAD_NAME, MessageId, PERSON, PermissionMode, RewindScope, Skill,
};
use swarm_store::{Draft, StoreError, Team};
use swarm_team::{ShutdownAsk, request_shutdown};
use swarm_tools::ModeSwitch as _;
use swarm_ui::{PaneInput, command_in};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::mail::MailHandler;
use crate::reporter::Reporter;

/// The reason given with a shutdown request.
const ASKED_HERE: &str = "requested in its pane";

const COMMANDS: &str = "commands here: /compact [INSTRUCTIONS], /model [NAME], /mode [MODE], /status, /help, \
    /mcp__SERVER__PROMPT [ARGUMENTS]. Everything else is a command of `swarm` in a shell";

/// Reply to commands that answer requests.
const ANSWERS: &str = "the number of a choice answers a dialog here; in a shell, run `swarm approve`, `deny` or `requests`";

/// The modes that a key cycles through.
const CYCLE: [PermissionMode; 3] = [
    PermissionMode::Default,
    PermissionMode::AcceptEdits,
    PermissionMode::Plan,
];

/// A change to apply between two turns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Change {
    Model(String),
    /// Start a new conversation.
    Clear,
    /// Return to the state before this line of the transcript.
    Rewind(String, RewindScope),
    /// Text to insert before the next message.
    Context(String),
}

/// Context of the terminal's commands.
#[derive(Debug)]
pub(crate) struct PersonCommands {
    pub(crate) rights: Arc<Rights>,
    /// The member's model, as `/status` shows it.
    pub(crate) model: String,
    /// The servers whose prompts are commands.
    pub(crate) servers: Option<Arc<McpServers>>,
    /// The skills that a prompt to a lead may name.
    pub(crate) skills: Arc<[Skill]>,
}

/// The person at the member's terminal, if it has one.
#[derive(Debug)]
pub(crate) struct Person {
    inputs: Option<UnboundedReceiver<PaneInput>>,
    mail: Arc<MailHandler>,
    reporter: Arc<Reporter>,
    pub(crate) commands: PersonCommands,
    /// Changes to apply before the next turn.
    pub(crate) changes: VecDeque<Change>,
    /// Input that is not in the inbox yet.
    waiting: VecDeque<PaneInput>,
    /// The kind of error that was reported for it.
    reported: Option<Discriminant<StoreError>>,
    /// Prompts of MCP servers that were typed as commands.
    prompts: (UnboundedSender<String>, UnboundedReceiver<String>),
}

impl Person {
    /// Requests the prompt of a line such as `/mcp__tickets__review 7` and sends its text to
    /// `prompts`.
    fn ask_server(&self, line: &str) {
        let (command, arguments) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let (command, arguments) = (command.to_owned(), arguments.trim().to_owned());
        let (servers, sender) = (self.commands.servers.clone(), self.prompts.0.clone());
        let reporter = Arc::clone(&self.reporter);
        tokio::spawn(async move {
            let asked = match servers {
                Some(servers) => servers.prompt(&command, &arguments).await,
                None => Err(format!("/{command}: no MCP servers are available")),
            };
            match asked {
                // In Claude Code's form for commands. The text does not start with `/`, so it is
                // not parsed as a command.
                Ok(text) => {
                    let head = format!("<command-name>/{command}</command-name>");
                    let args = format!("<command-args>{arguments}</command-args>");
                    // The receiver is gone if the member has stopped.
                    drop(sender.send(format!("{head}\n{args}\n\n{text}")));
                }
                Err(why) => reporter.notice(why),
            }
        });
    }

    pub(crate) fn new(
        inputs: Option<UnboundedReceiver<PaneInput>>,
        mail: Arc<MailHandler>,
        reporter: Arc<Reporter>,
        commands: PersonCommands,
    ) -> Self {
        Self {
            prompts: unbounded_channel(),
            inputs,
            mail,
            reporter,
            commands,
            changes: VecDeque::new(),
            waiting: VecDeque::new(),
            reported: None,
        }
    }

    /// Waits for the next input. Dropping the future loses nothing.
    pub(crate) async fn next(&mut self) -> PaneInput {
        let typed = self.inputs.as_mut().map(UnboundedReceiver::recv);
        let input = tokio::select! {
            input = or_never(typed) => input,
            // The sender is owned here, so the channel stays open.
            prompt = self.prompts.1.recv() => prompt.map(PaneInput::Line),
        };
        if let Some(input) = input {
            return input;
        }
        self.inputs = None;
        Box::pin(self.next()).await
    }

    /// Sends an input to the inbox. `when` says when a line will be read, where that is not
    /// immediately.
    pub(crate) async fn take(&mut self, input: PaneInput, when: Option<&str>) {
        let Some(input) = self.unless_command(input) else {
            return;
        };
        if let (PaneInput::Line(text), Some(when)) = (&input, when) {
            self.reporter.notice(format!("you: {text} ({when})"));
        }
        self.waiting.push_back(input);
        self.post().await;
    }

    /// Returns the input, unless it is a command to the program, which is executed. The model does
    /// not see commands.
    fn unless_command(&mut self, input: PaneInput) -> Option<PaneInput> {
        match &input {
            PaneInput::Line(line) if self.is_prompt_of_server(line) => {}
            PaneInput::Line(line) if self.answers_request(line) => self.reporter.notice(ANSWERS),
            PaneInput::Line(line) => {
                let (name, rest) = match command_in(line) {
                    Some((name, rest)) if !self.is_skill(name) => (name, rest),
                    _ => return Some(input),
                };
                self.command(name, rest);
            }
            PaneInput::Prompt {
                text,
                allowed,
                origin,
            } => {
                self.commands.rights.grant_for_turn(allowed, origin);
                return Some(PaneInput::Line(text.clone()));
            }
            PaneInput::Expand => self.reporter.emit(AgentEvent::Expand),
            PaneInput::CycleMode => self.reporter.notice("/mode MODE sets a stricter mode"),
            PaneInput::Context(text) => self.changes.push_back(Change::Context(text.clone())),
            PaneInput::Rewind { line, scope } => {
                self.changes.push_back(Change::Rewind(line.clone(), *scope));
            }
            PaneInput::Edit(_) => self.reporter.notice("a pane cannot open an editor"),
            PaneInput::PasteImage => {
                let line = "images can be attached to the prompts of `swarm lead`";
                self.reporter.notice(line);
            }
            PaneInput::Mode { mode, may_raise } => self.set_mode(*mode, *may_raise),
            _ => return Some(input),
        }
        None
    }

    /// Returns whether a line names the prompt of an MCP server, and requests it.
    fn is_prompt_of_server(&self, line: &str) -> bool {
        let Some(prompt) = line.trim().strip_prefix('/') else {
            return false;
        };
        let is_prompt = prompt.starts_with("mcp__") && !prompt.contains('\n');
        if is_prompt {
            self.ask_server(prompt);
        }
        is_prompt
    }

    /// Returns whether a line in a pane is a shell command about requests, which its dialogs name.
    fn answers_request(&self, line: &str) -> bool {
        let mut words = line.split_whitespace();
        !self.mail.context.name.is_lead()
            && words.next() == Some("swarm")
            && matches!(words.next(), Some("approve" | "deny" | "requests"))
    }

    /// Returns whether a prompt to a lead may start with this command.
    fn is_skill(&self, name: &str) -> bool {
        self.mail.context.name.is_lead()
            && self.commands.skills.iter().any(|skill| skill.name == name)
    }

    fn command(&mut self, name: &str, rest: &str) {
        let asked = Some(rest.to_owned()).filter(|rest| !rest.is_empty());
        let model = &self.commands.model;
        let mode = self.commands.rights.mode();
        match (name, asked) {
            ("compact", instructions) => {
                self.mail.ask_compaction(instructions);
                let line = "the conversation will be compacted after the turn";
                self.reporter.notice(line);
            }
            ("clear", None) if self.mail.context.name.is_lead() => {
                self.changes.push_back(Change::Clear);
                self.reporter
                    .notice("a new conversation starts before the next turn");
            }
            ("model", Some(name)) => self.changes.push_back(Change::Model(name)),
            ("model", None) => self.reporter.notice(format!("model: {model}")),
            ("mode", Some(word)) => match word.parse::<PermissionMode>() {
                // Other programs may type into a pane, so input there cannot relax permissions.
                Ok(new) if mode.covers(new) => self.set_mode(Some(new), false),
                Ok(new) => self.reporter.notice(format!(
                    "{new} is less strict than {mode}: in a pane the mode can only become stricter"
                )),
                Err(error) => self.reporter.notice(error.to_string()),
            },
            ("mode", None) => self.reporter.notice(format!("permission mode: {mode}")),
            ("status", None) => {
                let context = &self.mail.context;
                let team = context
                    .team()
                    .map_or_else(String::new, |team| format!(" · team {}", team.name()));
                self.reporter.notice(format!(
                    "{}{team} · model {model} · mode {mode}",
                    context.name
                ));
            }
            ("approve" | "deny" | "requests", _) => self.reporter.notice(ANSWERS),
            _ => self.reporter.notice(COMMANDS),
        }
    }

    /// Sets the mode, or the next one in the cycle. `may_raise` allows modes above the ceiling.
    fn set_mode(&self, mode: Option<PermissionMode>, may_raise: bool) {
        let rights = &self.commands.rights;
        let (present, ceiling) = (rights.mode(), rights.ceiling());
        let next = || {
            let at = CYCLE.iter().position(|mode| *mode == present);
            let after = at.map_or(0, |at| at + 1);
            let mut modes = CYCLE.iter().cycle().skip(after).take(CYCLE.len()).copied();
            modes.find(|mode| may_raise || ceiling.covers(*mode))
        };
        let Some(mode) = mode.or_else(next) else {
            return;
        };
        if may_raise {
            rights.raise(mode);
        } else if !rights.set_mode(mode) {
            self.reporter.notice(format!(
                "{mode} is above {ceiling}, the mode at session start; raise it in a terminal that agents cannot type into"
            ));
            return;
        }
        self.reporter.notice(format!("permission mode: {mode}"));
    }

    /// Sends all pending input to the inbox. Between turns only: during a turn, the turn handles
    /// interruptions.
    pub(crate) async fn post_all(&mut self) {
        while let Some(input) = self
            .inputs
            .as_mut()
            .and_then(|inputs| inputs.try_recv().ok())
        {
            let input = self.unless_command(input);
            self.waiting.extend(input);
        }
        self.post().await;
    }

    /// Retries input that could not be sent to the inbox. Lines keep their order; a shutdown does
    /// not wait for them.
    pub(crate) async fn post(&mut self) {
        let team = self.mail.context.team();
        let mut trouble = None;
        for input in std::mem::take(&mut self.waiting) {
            if trouble.is_some() && matches!(input, PaneInput::Line(_)) {
                self.waiting.push_back(input);
                continue;
            }
            match self.try_post(team.as_deref(), &input).await {
                Ok(()) => {}
                Err(StoreError::MessageTooLarge { bytes, limit, .. }) => {
                    self.reporter.notice(too_large(bytes, limit));
                }
                Err(error) => {
                    trouble.get_or_insert(error);
                    self.waiting.push_back(input);
                }
            }
        }
        let kind = trouble.as_ref().map(std::mem::discriminant);
        if let Some(error) = trouble.filter(|_| kind != self.reported) {
            let line = format!("your input is not in the inbox yet: {error}");
            self.reporter.notice(line);
        }
        self.reported = kind;
    }

    async fn try_post(&self, team: Option<&dyn Team>, input: &PaneInput) -> Result<(), StoreError> {
        let context = &self.mail.context;
        match (input, team) {
            (PaneInput::Line(text), team) => {
                let text = text.trim_end();
                let draft = if context.name.is_lead() {
                    Draft::person(text).urgent()
                } else {
                    Draft::new(LEAD_NAME, text).urgent()
                };
                match team {
                    Some(team) => {
                        let id = MessageId::random();
                        // The turn may read the message before the store has answered.
                        self.mail.add_typed(id.clone());
                        let identified = draft.clone().with_id(id);
                        match team.send(&context.name, identified).await {
                            // A lead does not need an inbox for input.
                            Err(StoreError::MessageTooLarge { .. }) if context.name.is_lead() => {
                                self.mail.keep_typed(draft);
                            }
                            posted => posted.map(drop)?,
                        }
                    }
                    None => self.mail.keep_typed(draft),
                }
            }
            // A lead is not stopped by mail but by the program that runs it.
            (PaneInput::Shutdown, Some(team)) if !context.name.is_lead() => {
                let now = context.clock.now();
                let ask = ShutdownAsk {
                    reason: Some(ASKED_HERE),
                    by: PERSON,
                    spawn_id: Some(context.spawn_id),
                    force: false,
                };
                request_shutdown(team, &context.name, now, ask).await?;
            }
            // Between turns there is nothing to interrupt or to wait for; during a turn the turn
            // handles it.
            _ => {}
        }
        Ok(())
    }
}

/// Reports a line that no inbox can accept.
fn too_large(bytes: usize, limit: usize) -> String {
    format!(
        "what you typed was dropped: it has {bytes} bytes and a message may have {limit}. Put it into a file and name \
         that here"
    )
}
