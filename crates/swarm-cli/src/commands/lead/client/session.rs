//! One session of a client: a lead with its prompts.

use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::{Value, json};
use swarm_member::StopTokens;
use swarm_protocol::{AgentEvent, PermissionMode, SessionId, partial_debug};
use swarm_ui::{PaneInput, command_in};

use super::link::{ClientLink, RpcError};
use super::prompt::prompt_text;
use super::prompts::{Prompts, Reaction};
use crate::commands::lead::questions::Questions;
use crate::commands::lead::slash::{TerminalCommands, Typed};
use crate::failure::Failure;

#[derive(Debug, Default)]
pub(in crate::commands) struct ClientSessions(Mutex<Vec<Arc<ClientSession>>>);

impl ClientSessions {
    pub(in crate::commands) fn add(&self, session: Arc<ClientSession>) {
        self.0.lock().push(session);
    }

    pub(in crate::commands) fn remove(&self, session: &Arc<ClientSession>) {
        self.0.lock().retain(|one| !Arc::ptr_eq(one, session));
    }

    /// Returns the session that `params` name.
    pub(in crate::commands) fn named(
        &self,
        params: &Value,
    ) -> Result<Arc<ClientSession>, RpcError> {
        let id = params["sessionId"].as_str().unwrap_or_default();
        let sessions = self.0.lock();
        let mut named = sessions.iter().filter(|session| session.has_id(id));
        let unknown = || RpcError::invalid(format!("session `{id}` is not open"));
        named.next().cloned().ok_or_else(unknown)
    }

    pub(in crate::commands) fn each(&self, act: impl Fn(&ClientSession)) {
        self.0.lock().iter().for_each(|session| act(session));
    }
}

pub(in crate::commands) struct ClientSession {
    pub(super) link: Arc<ClientLink>,
    /// The request that opens the session, until it has a response.
    opening: Mutex<Option<Value>>,
    /// Whether an earlier conversation is continued, and its history is sent to the client.
    pub(super) is_loaded: bool,
    /// The lead, once it runs.
    lead: Mutex<Option<SessionLead>>,
    prompts: Mutex<Prompts>,
    pub(super) stops: StopTokens,
}

#[derive(Clone)]
pub(super) struct SessionLead {
    pub(super) commands: Arc<TerminalCommands>,
    pub(super) questions: Questions,
}

partial_debug!(ClientSession);

impl ClientSession {
    /// Creates a session for the request with this id.
    pub(in crate::commands) fn new(link: Arc<ClientLink>, request: Value, is_loaded: bool) -> Self {
        Self {
            link,
            opening: Mutex::new(Some(request)),
            is_loaded,
            lead: Mutex::default(),
            prompts: Mutex::default(),
            stops: StopTokens::default(),
        }
    }

    fn has_id(&self, id: &str) -> bool {
        self.id().is_some_and(|own| own.to_string() == id)
    }

    /// Returns the id of the session, once its lead runs.
    pub(super) fn id(&self) -> Option<SessionId> {
        self.lead.lock().as_ref().map(|lead| lead.commands.session)
    }

    /// The lead runs: responds to the request that opens the session.
    pub(super) fn opened(&self, lead: SessionLead, mode: PermissionMode, modes: &[PermissionMode]) {
        let modes = modes
            .iter()
            .map(|mode| json!({"id": mode.name(), "name": mode.name()}));
        let response = json!({
            "sessionId": lead.commands.session.to_string(),
            "modes": {"currentModeId": mode.name(), "availableModes": modes.collect::<Vec<_>>()},
        });
        *self.lead.lock() = Some(lead);
        if let Some(request) = self.opening.lock().take() {
            self.link.respond(&request, Ok(response));
        }
    }

    /// The lead has ended. Requests without a response fail with its error.
    pub(in crate::commands) fn ended(&self, failure: Option<Failure>) {
        *self.lead.lock() = None;
        let error = failure.map_or_else(
            || RpcError::internal("the session has ended"),
            RpcError::from,
        );
        let prompt = self.prompts.lock().close().map(|(request, _)| request);
        if let Some(request) = self.opening.lock().take().or(prompt) {
            self.link.respond(&request, Err(error));
        } else {
            tracing::info!(?error, "session ended");
        }
    }

    /// Stops the lead: its team is shut down, or left to another lead if the client is gone.
    pub(in crate::commands) fn stop(&self, is_client_gone: bool) {
        if is_client_gone {
            self.stops.hangup.cancel();
        } else if self.stops.stop.is_cancelled() {
            self.stops.kill.cancel();
        }
        self.stops.stop.cancel();
    }

    fn lead(&self) -> Result<SessionLead, RpcError> {
        let lead = self.lead.lock().clone();
        lead.ok_or_else(|| RpcError::internal("the session has ended"))
    }

    /// Takes a prompt: a command runs immediately, anything else is a message to the lead.
    pub(in crate::commands) fn prompt(
        self: Arc<Self>,
        request: Value,
        params: &Value,
    ) -> Result<(), RpcError> {
        let lead = self.lead()?;
        let text = prompt_text(&params["prompt"]).map_err(RpcError::invalid)?;
        // A command may take time, and the client may cancel meanwhile.
        if !lead.commands.is_for_lead(&text) {
            self.prompts.lock().command_starts(request.clone());
            std::thread::spawn(move || self.command(&lead, &text, &request));
            return Ok(());
        }
        self.prompts.lock().open(request, &text)?;
        // Questions that the person has dismissed are asked again.
        lead.questions.show_postponed();
        if command_in(&text).is_none() {
            lead.send(PaneInput::Line(text));
            return Ok(());
        }
        std::thread::spawn(move || match self.take(&lead, text) {
            Some(prompt) if !self.prompts.lock().is_cancelled() => lead.send(prompt),
            _ => self.close(),
        });
        Ok(())
    }

    /// Runs a command while a prompt may be open.
    fn command(&self, lead: &SessionLead, text: &str, request: &Value) {
        let prompt = self.take(lead, text.to_owned());
        let reason = self.prompts.lock().command_ended(request);
        // After the command, which may answer a question that the person has dismissed.
        lead.questions.show_postponed();
        let outcome = match prompt {
            // A skill or a prompt file with the name of a command.
            Some(prompt) if reason != "cancelled" => {
                let opened = self.prompts.lock().open(request.clone(), text);
                match opened {
                    Ok(()) => return lead.send(prompt),
                    Err(error) => Err(error),
                }
            }
            _ => Ok(reason),
        };
        self.respond(request, outcome);
    }

    /// Runs a command. Returns the prompt to the lead that it stands for, if any.
    fn take(&self, lead: &SessionLead, text: String) -> Option<PaneInput> {
        match lead.commands.take(text) {
            Typed::Prompt(line) if is_of_lead(&line) => lead.send(PaneInput::Line(line)),
            Typed::Prompt(line) => return Some(PaneInput::Line(line)),
            Typed::Input(prompt @ PaneInput::Prompt { .. }) => return Some(prompt),
            Typed::Input(input) => lead.send(input),
            Typed::Quit => self.stop(false),
            Typed::Done => {}
        }
        None
    }

    /// Interrupts the turn and the commands.
    pub(in crate::commands) fn cancel(&self) {
        let request = self.prompts.lock().cancel();
        if let Some(request) = request {
            self.respond(&request, Ok("cancelled"));
        }
        if let Ok(lead) = self.lead() {
            lead.commands.lines.stop();
            lead.send(PaneInput::Interrupt);
        }
    }

    pub(in crate::commands) fn set_mode(&self, params: &Value) -> Result<(), RpcError> {
        let lead = self.lead()?;
        let mode = params["modeId"].as_str().unwrap_or_default();
        let mode = mode.parse::<PermissionMode>();
        let mode = mode.map_err(|error| RpcError::invalid(error.to_string()))?;
        lead.send(lead.commands.mode_input(Some(mode)));
        Ok(())
    }

    /// Responds to the prompt when its turn has ended.
    pub(super) fn follow(&self, event: &AgentEvent) {
        let reaction = self.prompts.lock().follow(event);
        match reaction {
            Some(Reaction::Interrupt) => {
                if let Ok(lead) = self.lead() {
                    lead.send(PaneInput::Interrupt);
                }
            }
            Some(Reaction::Respond(request, outcome)) => self.respond(&request, outcome),
            None => {}
        }
    }

    /// Responds to the prompt, which starts no turn.
    fn close(&self) {
        let closed = self.prompts.lock().close();
        if let Some((request, reason)) = closed {
            self.respond(&request, Ok(reason));
        }
    }

    fn respond(&self, request: &Value, outcome: Result<&str, RpcError>) {
        let response = outcome.map(|reason| json!({"stopReason": reason}));
        self.link.respond(request, response);
    }
}

impl SessionLead {
    pub(super) fn send(&self, input: PaneInput) {
        // A stopped lead no longer receives.
        self.commands.lead.send(input).ok();
    }
}

/// Returns whether the lead handles a command between two turns, without starting a turn.
fn is_of_lead(line: &str) -> bool {
    let command = command_in(line).map(|(name, _)| name);
    command.is_some_and(|name| ["compact", "model", "clear"].contains(&name))
}
