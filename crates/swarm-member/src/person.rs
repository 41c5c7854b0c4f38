//! What a person types into the member's terminal.
//!
//! A line becomes a message in the member's own inbox, so it is as durable as any other message and takes the same path.
//! A teammate gets it in the name of the lead, and a lead in the name of the person, as from `swarm send`. A lead without a
//! team has no inbox, and gets it directly. It carries no rights: nothing that is typed here answers a request or grants
//! anything, because whoever can send keys to the terminal, such as an agent's shell through tmux, is not known.

use std::collections::VecDeque;
use std::mem::Discriminant;
use std::sync::Arc;

use swarm_mcp::McpServers;
use swarm_protocol::{LEAD_NAME, PERSON};
use swarm_store::{Draft, StoreError, Team};
use swarm_team::{ShutdownAsk, request_shutdown};
use swarm_ui::{PaneInput, command_in};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::mail::MailHandler;
use crate::reporter::Reporter;

/// The reason given with a shutdown request.
const ASKED_HERE: &str = "asked for in its pane";

/// What is said to any other command.
const COMMANDS: &str = "commands here: /compact [INSTRUCTIONS] and /mcp__SERVER__PROMPT [ARGUMENTS]. Everything else is a command of `swarm` in a shell";

/// The person at the member's terminal, if it has one.
#[derive(Debug)]
pub(crate) struct Person {
    inputs: Option<UnboundedReceiver<PaneInput>>,
    mail: Arc<MailHandler>,
    reporter: Arc<Reporter>,
    /// Input that is not in the inbox yet.
    waiting: VecDeque<PaneInput>,
    /// The kind of error that was reported for it.
    told: Option<Discriminant<StoreError>>,
    prompts: ServerPrompts,
}

/// Prompts of MCP servers that were typed as commands, on their way from their servers.
#[derive(Debug)]
struct ServerPrompts {
    servers: Option<Arc<McpServers>>,
    sender: UnboundedSender<String>,
    receiver: UnboundedReceiver<String>,
}

impl ServerPrompts {
    /// Asks for the prompt of a line such as `/mcp__tickets__review 7`. Its text comes out of the receiver.
    fn ask(&self, line: &str, reporter: &Arc<Reporter>) {
        let (command, arguments) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let (command, arguments) = (command.to_owned(), arguments.trim().to_owned());
        let (servers, sender) = (self.servers.clone(), self.sender.clone());
        let reporter = Arc::clone(reporter);
        tokio::spawn(async move {
            let asked = match servers {
                Some(servers) => servers.prompt(&command, &arguments).await,
                None => Err(format!("/{command}: there are no MCP servers here")),
            };
            match asked {
                // As Claude Code marks a command. The text begins with no `/`, so it is not taken for one.
                Ok(text) => {
                    let head = format!("<command-name>/{command}</command-name>");
                    let args = format!("<command-args>{arguments}</command-args>");
                    // A person who has gone needs no prompt.
                    drop(sender.send(format!("{head}\n{args}\n\n{text}")));
                }
                Err(why) => reporter.notice(why),
            }
        });
    }
}

impl Person {
    pub(crate) fn new(
        inputs: Option<UnboundedReceiver<PaneInput>>,
        mail: Arc<MailHandler>,
        reporter: Arc<Reporter>,
        servers: Option<Arc<McpServers>>,
    ) -> Self {
        let (sender, receiver) = unbounded_channel();
        Self {
            prompts: ServerPrompts {
                servers,
                sender,
                receiver,
            },
            inputs,
            mail,
            reporter,
            waiting: VecDeque::new(),
            told: None,
        }
    }

    /// Waits for the next input. Dropping the future loses nothing.
    pub(crate) async fn next(&mut self) -> PaneInput {
        let prompts = &mut self.prompts.receiver;
        let typed = async {
            match &mut self.inputs {
                Some(inputs) => inputs.recv().await,
                None => std::future::pending().await,
            }
        };
        let input = tokio::select! {
            input = typed => input,
            // The sender is ours, so there is always another one.
            prompt = prompts.recv() => prompt.map(PaneInput::Line),
        };
        if let Some(input) = input {
            return input;
        }
        self.inputs = None;
        Box::pin(self.next()).await
    }

    /// Puts an input into the inbox. `when` says when a line will be read, where that is not immediately.
    pub(crate) fn take(&mut self, input: PaneInput, when: Option<&str>) {
        let Some(input) = self.unless_command(input) else {
            return;
        };
        if let (PaneInput::Line(text), Some(when)) = (&input, when) {
            self.reporter.notice(format!("you: {text} ({when})"));
        }
        self.waiting.push_back(input);
        self.post();
    }

    /// The input, unless it is a command to the program, which is carried out. The model never sees one.
    fn unless_command(&self, input: PaneInput) -> Option<PaneInput> {
        let PaneInput::Line(line) = &input else {
            return Some(input);
        };
        if let Some(prompt) = line.trim().strip_prefix('/')
            && prompt.starts_with("mcp__")
            && !prompt.contains('\n')
        {
            self.prompts.ask(prompt, &self.reporter);
            return None;
        }
        let Some((name, rest)) = command_in(line) else {
            return Some(input);
        };
        if name == "compact" {
            let instructions = Some(rest.to_owned()).filter(|rest| !rest.is_empty());
            self.mail.ask_compaction(instructions);
            let line = "the conversation will be compacted when the turn has ended";
            self.reporter.notice(line);
        } else {
            self.reporter.notice(COMMANDS);
        }
        None
    }

    /// Puts everything into the inbox that was typed until now. Between turns only: during a turn an interruption is the
    /// turn's.
    pub(crate) fn post_all(&mut self) {
        while let Some(input) = self
            .inputs
            .as_mut()
            .and_then(|inputs| inputs.try_recv().ok())
        {
            self.waiting.extend(self.unless_command(input));
        }
        self.post();
    }

    /// Tries again what could not be put into the inbox. Lines keep their order, and a shutdown waits for none of them.
    pub(crate) fn post(&mut self) {
        let team = self.mail.seat.team();
        let mut trouble = None;
        for input in std::mem::take(&mut self.waiting) {
            if trouble.is_some() && matches!(input, PaneInput::Line(_)) {
                self.waiting.push_back(input);
                continue;
            }
            match self.try_post(team.as_deref(), &input) {
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
        if let Some(error) = trouble.filter(|_| kind != self.told) {
            let line = format!("what you typed is not in the inbox yet: {error}");
            self.reporter.notice(line);
        }
        self.told = kind;
    }

    fn try_post(&self, team: Option<&dyn Team>, input: &PaneInput) -> Result<(), StoreError> {
        let seat = &self.mail.seat;
        match (input, team) {
            (PaneInput::Line(text), team) => {
                let text = text.trim_end();
                let draft = if seat.name.is_lead() {
                    Draft::person(text).urgent()
                } else {
                    Draft::new(LEAD_NAME, text).urgent()
                };
                match team {
                    Some(team) => self.mail.add_typed(team.send(&seat.name, draft)?),
                    None => self.mail.keep_typed(draft),
                }
            }
            // Nobody asks a lead by mail to stop: the program that runs it does.
            (PaneInput::Shutdown, Some(team)) if !seat.name.is_lead() => {
                let now = seat.clock.now();
                let ask = ShutdownAsk {
                    reason: Some(ASKED_HERE),
                    by: PERSON,
                    force: false,
                };
                request_shutdown(team, &seat.name, now, ask)?;
            }
            // Between turns there is nothing to interrupt or to wait for; during a turn the turn handles it.
            (
                PaneInput::Interrupt
                | PaneInput::Background
                | PaneInput::Shutdown
                | PaneInput::Choice { .. },
                _,
            ) => {}
        }
        Ok(())
    }
}

/// Reports a line that no inbox would ever take.
fn too_large(bytes: usize, limit: usize) -> String {
    format!(
        "what you typed was dropped: it has {bytes} bytes and a message may have {limit}. Put it into a file and name \
         that here"
    )
}
