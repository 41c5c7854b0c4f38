//! The prompts and commands of a session that have no response yet.

use serde_json::Value;
use swarm_protocol::{AgentEvent, MemberState};

use super::link::RpcError;

/// The prompts and commands of a session.
#[derive(Debug, Default)]
pub(super) struct Prompts {
    /// The prompt that the lead works on.
    open: Option<OpenPrompt>,
    /// Commands, which also run while a prompt is open.
    commands: Vec<RunningCommand>,
    /// Prompts of MCP servers that were cancelled before the lead received their text.
    withdrawn: Vec<String>,
    /// Whether the next turn begins with such a prompt.
    interrupts_turn: bool,
}

#[derive(Debug)]
struct OpenPrompt {
    request: Value,
    /// The name of the command, if it is the prompt of an MCP server.
    of_server: Option<String>,
    /// Whether it is in the conversation.
    is_read: bool,
    is_cancelled: bool,
}

#[derive(Debug)]
struct RunningCommand {
    request: Value,
    is_cancelled: bool,
}

/// What follows from an event.
#[derive(Debug)]
pub(super) enum Reaction {
    Interrupt,
    Respond(Value, Result<&'static str, RpcError>),
}

impl Prompts {
    /// Adds a prompt, if no other one is open.
    pub(super) fn open(&mut self, request: Value, text: &str) -> Result<(), RpcError> {
        if self.open.is_some() {
            return Err(RpcError::invalid("the last prompt is still being answered"));
        }
        self.open = Some(OpenPrompt {
            request,
            of_server: server_prompt(text).map(str::to_owned),
            is_read: false,
            is_cancelled: false,
        });
        Ok(())
    }

    /// Removes the open prompt. Returns its request and the stop reason if no turn follows.
    pub(super) fn close(&mut self) -> Option<(Value, &'static str)> {
        let open = self.open.take()?;
        Some((open.request, stop_reason(open.is_cancelled)))
    }

    pub(super) fn is_cancelled(&self) -> bool {
        self.open.as_ref().is_some_and(|open| open.is_cancelled)
    }

    pub(super) fn command_starts(&mut self, request: Value) {
        self.commands.push(RunningCommand {
            request,
            is_cancelled: false,
        });
    }

    /// Removes a command and returns its stop reason.
    pub(super) fn command_ended(&mut self, request: &Value) -> &'static str {
        let mut commands = self.commands.iter();
        let at = commands.position(|command| command.request == *request);
        stop_reason(at.is_some_and(|at| self.commands.swap_remove(at).is_cancelled))
    }

    /// Cancels everything. Returns the request of a prompt that is answered now because its server
    /// may never return a text. Any other prompt is answered when its turn ends.
    pub(super) fn cancel(&mut self) -> Option<Value> {
        for command in &mut self.commands {
            command.is_cancelled = true;
        }
        let open = self.open.as_mut()?;
        open.is_cancelled = true;
        if open.is_read {
            return None;
        }
        let of_server = open.of_server.take()?;
        self.withdrawn.push(of_server);
        self.open.take().map(|open| open.request)
    }

    /// Follows the work of the lead.
    pub(super) fn follow(&mut self, event: &AgentEvent) -> Option<Reaction> {
        match event {
            AgentEvent::MailIn {
                from, line, more, ..
            } if from == "you" => {
                self.read(more.as_ref().map_or(line, |more| &more.text));
                None
            }
            AgentEvent::Notice { line } => self.refused(line),
            AgentEvent::TurnStarted => {
                let interrupts = std::mem::take(&mut self.interrupts_turn);
                let interrupts = match &self.open {
                    // It was cancelled before the turn began.
                    Some(open) if open.is_cancelled => true,
                    Some(open) if open.is_read => false,
                    _ => interrupts,
                };
                interrupts.then_some(Reaction::Interrupt)
            }
            AgentEvent::TurnEnded { outcome, error, .. } => {
                self.interrupts_turn = false;
                let open = self.open.take_if(|open| open.is_read)?;
                let why = || error.clone().unwrap_or_default();
                let outcome = match outcome.as_str() {
                    _ if open.is_cancelled => Ok("cancelled"),
                    "interrupted" => Ok("cancelled"),
                    "turn_limit" => Ok("max_turn_requests"),
                    "failed" | "stopped_by_hook" => Err(RpcError::internal(why())),
                    _ => Ok("end_turn"),
                };
                Some(Reaction::Respond(open.request, outcome))
            }
            // A hook has withheld the prompt, so there is no turn.
            AgentEvent::State {
                state: MemberState::Idle | MemberState::Background,
                ..
            } => {
                self.interrupts_turn = false;
                let open = self.open.take_if(|open| open.is_read)?;
                let reason = stop_reason(open.is_cancelled);
                Some(Reaction::Respond(open.request, Ok(reason)))
            }
            _ => None,
        }
    }

    /// A prompt is in the conversation.
    fn read(&mut self, text: &str) {
        let command = text.strip_prefix("<command-name>/");
        let command = command.and_then(|text| Some(text.split_once("</command-name>")?.0));
        let mut withdrawn = self.withdrawn.iter();
        if let Some(at) = withdrawn.position(|name| Some(name.as_str()) == command) {
            self.withdrawn.swap_remove(at);
            self.interrupts_turn = true;
        } else if let Some(open) = &mut self.open {
            open.is_read = true;
        }
    }

    /// A notice that begins with the command says why there is no prompt of an MCP server.
    fn refused(&mut self, line: &str) -> Option<Reaction> {
        let is_of = |command: &str| {
            let why = line.strip_prefix('/')?.strip_prefix(command)?;
            why.starts_with([' ', ':']).then_some(())
        };
        let mut withdrawn = self.withdrawn.iter();
        if let Some(at) = withdrawn.position(|command| is_of(command).is_some()) {
            self.withdrawn.swap_remove(at);
            return None;
        }
        let open = self.open.as_ref().filter(|open| !open.is_read)?;
        is_of(open.of_server.as_deref()?)?;
        let request = self.open.take()?.request;
        Some(Reaction::Respond(request, Err(RpcError::invalid(line))))
    }
}

fn stop_reason(is_cancelled: bool) -> &'static str {
    if is_cancelled {
        "cancelled"
    } else {
        "end_turn"
    }
}

/// Returns the name of the command if a text is the prompt of an MCP server, such as
/// `/mcp__tickets__review 7`, possibly as the task of `/plan`.
fn server_prompt(text: &str) -> Option<&str> {
    let text = text.trim();
    let task = text.strip_prefix("/plan ").unwrap_or(text);
    let prompt = task.trim_start().strip_prefix('/')?;
    let is_prompt = prompt.starts_with("mcp__") && !prompt.contains('\n');
    prompt.split_whitespace().next().filter(|_| is_prompt)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn typed(line: &str) -> AgentEvent {
        AgentEvent::MailIn {
            from: "you".to_owned(),
            color: None,
            line: line.to_owned(),
            more: None,
        }
    }

    fn notice(line: &str) -> AgentEvent {
        AgentEvent::Notice {
            line: line.to_owned(),
        }
    }

    #[test]
    fn a_prompt_that_its_server_refuses_gets_the_reason_as_an_error() {
        let mut prompts = Prompts::default();
        prompts.open(json!(1), "/mcp__a__b hi").unwrap();
        assert!(prompts.open(json!(2), "hello").is_err());
        assert!(prompts.follow(&notice("/mcp__a__bc: other")).is_none());
        let refused = prompts.follow(&notice("/mcp__a__b is not a prompt"));
        let Some(Reaction::Respond(request, Err(_))) = &refused else {
            panic!("{refused:?}");
        };
        assert_eq!(*request, json!(1));
        prompts.open(json!(3), "hello").unwrap();
        let late = prompts.follow(&notice("/mcp__a__b is not a prompt"));
        assert!(late.is_none(), "{late:?}");
    }

    #[test]
    fn a_cancelled_prompt_of_a_server_is_answered_and_its_later_turn_interrupted() {
        let mut prompts = Prompts::default();
        prompts.open(json!(1), "/mcp__a__b hi").unwrap();
        assert_eq!(prompts.cancel(), Some(json!(1)));
        prompts.follow(&typed("<command-name>/mcp__a__b</command-name>"));
        let started = prompts.follow(&AgentEvent::TurnStarted);
        assert!(matches!(started, Some(Reaction::Interrupt)), "{started:?}");

        // Another prompt in the same turn counts.
        prompts.open(json!(2), "/mcp__a__b hi").unwrap();
        prompts.cancel();
        prompts.open(json!(3), "hello").unwrap();
        prompts.follow(&typed("<command-name>/mcp__a__b</command-name>"));
        prompts.follow(&typed("hello"));
        assert!(prompts.follow(&AgentEvent::TurnStarted).is_none());
    }

    #[test]
    fn commands_end_while_a_prompt_is_open() {
        let mut prompts = Prompts::default();
        prompts.open(json!(1), "hello").unwrap();
        prompts.command_starts(json!(2));
        assert_eq!(prompts.command_ended(&json!(2)), "end_turn");
        prompts.command_starts(json!(3));
        // The prompt is answered once its turn has ended.
        assert_eq!(prompts.cancel(), None);
        assert!(prompts.is_cancelled());
        assert_eq!(prompts.command_ended(&json!(3)), "cancelled");
        assert_eq!(prompts.close(), Some((json!(1), "cancelled")));
    }
}
