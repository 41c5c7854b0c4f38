//! The runtime: one agent process per member, one session per conversation.

use std::time::Duration;

use async_trait::async_trait;
use serde_json::{Value, json};
use swarm_agent::{AgentError, AgentParts, AgentRuntime, Turn, TurnStop};
use swarm_protocol::AgentEvent;
use tokio::sync::Mutex;

use super::connection::{AcpSession, Connection};
use super::prompt::{PromptEnd, run_prompt};
use crate::ProgramSpec;
use crate::asking_mode;
use crate::cut_turn::CutTurn;
use crate::handed_server::report_hidden;
use crate::relay::MCP_RELAY_VARIABLE;
use crate::sandbox::Launch;
use crate::spec::ServerCommand;

/// Timeout of the first response of a program. Programs on Node.js take seconds to start.
const START_TIMEOUT: Duration = Duration::from_mins(1);

/// The mode in which an agent asks about its calls.
const DEFAULT_MODE: &str = "default";

/// Text for a new session of a member that has worked before.
const NEW_SESSION: &str =
    "[You have worked in this team before, but your earlier session could not be continued.]";

/// A member whose turns are answered by a program that speaks the Agent Client Protocol.
#[derive(Debug)]
pub struct AcpRuntime {
    spec: ProgramSpec,
    agent: Mutex<Option<Agent>>,
}

/// A running program with its session.
#[derive(Debug)]
struct Agent {
    connection: Connection,
    /// The session; `None` until the first turn.
    session: Option<AcpSession>,
    /// Texts that precede the next prompt, such as the introduction of a new session.
    notes: Vec<String>,
    /// Whether a notice has said that its mode cannot be set.
    is_mode_reported: bool,
}

impl AcpRuntime {
    /// Creates the runtime. The program starts with [`AgentRuntime::start`] or the first turn.
    pub fn new(spec: ProgramSpec) -> Self {
        Self {
            spec,
            agent: Mutex::new(None),
        }
    }

    /// Starts the program and agrees on the protocol.
    async fn launch(&self, agent: &AgentParts) -> Result<Agent, AgentError> {
        let launch = Launch::prepare(&self.spec, &agent.tool_context, None).await?;
        let started = Connection::open(&self.spec, agent, launch);
        let connection = tokio::time::timeout(START_TIMEOUT, started).await;
        let connection = connection.map_err(|_elapsed| {
            AgentError::Runtime(format!(
                "{} did not respond within {START_TIMEOUT:?}",
                self.spec.name
            ))
        })??;
        Ok(Agent {
            connection,
            session: None,
            notes: Vec::new(),
            is_mode_reported: false,
        })
    }

    /// Returns the running program with its session, and starts either if needed.
    async fn ready(
        &self,
        mut running: Option<Agent>,
        turn: &Turn<'_>,
        state: &mut CutTurn,
    ) -> Result<Agent, AgentError> {
        let has_exited = |agent: &mut Agent| agent.connection.has_exited();
        if running.as_mut().is_some_and(has_exited) {
            running = None;
        }
        let mut agent = match running {
            Some(agent) => agent,
            None => self.launch(turn.parts()).await?,
        };
        if agent.session.is_none() {
            self.open_session(&mut agent, turn, state).await?;
        }
        if let Some(session) = &agent.session {
            // In its other modes the agent would decide about calls itself. Without a mode `plan` it
            // asks in `default`, and the member's own mode decides.
            let modes = [asking_mode(turn.parts().rights.mode()), DEFAULT_MODE];
            let is_set = agent.connection.set_mode(session, &modes).await?;
            if !is_set && !std::mem::replace(&mut agent.is_mode_reported, true) {
                turn.emit(AgentEvent::Notice {
                    line: format!(
                        "{} has no session mode `{DEFAULT_MODE}`: its own settings decide which calls it asks about",
                        self.spec.name
                    ),
                });
            }
        }
        Ok(agent)
    }

    async fn open_session(
        &self,
        agent: &mut Agent,
        turn: &Turn<'_>,
        state: &mut CutTurn,
    ) -> Result<(), AgentError> {
        let parts = turn.parts();
        let address = agent.connection.relay_address();
        let servers = self.spec.servers(&parts.tools);
        let servers: Vec<_> = servers.iter().map(|one| named(one, address)).collect();
        let place = json!({"cwd": parts.tool_context.cwd, "mcpServers": servers});
        if let Some(earlier) = state.session().map(str::to_owned) {
            match agent.connection.load_session(&earlier, &place).await {
                Ok(mut session) => {
                    if session.modes.is_empty() {
                        state.modes().clone_into(&mut session.modes);
                    } else {
                        state.set_modes(&session.modes)?;
                    }
                    agent.session = Some(session);
                    return Ok(());
                }
                Err(error) => turn.emit(AgentEvent::Notice {
                    line: format!("a new session of {} was started: {error}", self.spec.name),
                }),
            }
        }
        let session = agent.connection.new_session(&place).await?;
        state.set_session(&session.id)?;
        state.set_modes(&session.modes)?;
        agent.session = Some(session);
        agent.notes.push(self.spec.introduction.clone());
        if turn.has_response() {
            agent.notes.push(NEW_SESSION.to_owned());
        }
        Ok(())
    }
}

/// Returns an MCP server as sessions name it.
fn named(server: &ServerCommand, address: &str) -> Value {
    let ServerCommand {
        name,
        command,
        args,
    } = server;
    let env = [json!({"name": MCP_RELAY_VARIABLE, "value": address})];
    json!({"name": name, "command": command, "args": args, "env": env})
}

#[async_trait]
impl AgentRuntime for AcpRuntime {
    async fn start(&self, agent: &AgentParts) -> Result<(), AgentError> {
        let started = self.launch(agent).await?;
        *self.agent.lock().await = Some(started);
        report_hidden(&self.spec.name, agent);
        if let Some(line) = self.spec.unpriced().await {
            agent.events.emit(AgentEvent::Notice { line });
        }
        Ok(())
    }

    async fn stop(&self) {
        // A turn that still runs drops it.
        let agent = self.agent.try_lock().ok();
        let agent = agent.and_then(|mut slot| slot.take());
        // Blocks until its sandbox has ended.
        drop(tokio::task::spawn_blocking(move || drop(agent)).await);
    }

    async fn answer(&self, turn: &mut Turn<'_>) -> Result<(), TurnStop> {
        // The program acts on the messages, so they must not be delivered again after that.
        turn.flush()?;
        let mut state = CutTurn::load(&turn.state_file(), &self.spec.name)?;
        // Dropped with its process on any error.
        let mut slot = self.agent.lock().await;
        loop {
            // The turn may end before the program gets them.
            state.offer(&turn.input())?;
            self.spec.admitted(turn).await?;
            let mut agent = self.ready(slot.take(), turn, &mut state).await?;
            let mut texts = std::mem::take(&mut agent.notes);
            texts.extend(state.give()?);
            let session = agent.session.as_ref().map_or("", |session| &session.id);
            let prompt = run_prompt(&mut agent.connection, turn, session, &texts, &mut state);
            let mut answered = prompt.await?;
            agent.notes = answered.notes;
            self.spec.record(turn, None, answered.usage).await;
            match answered.end {
                PromptEnd::Done => {}
                PromptEnd::Cancelled => {
                    *slot = Some(agent);
                    return Err(TurnStop::Interrupted);
                }
                PromptEnd::Refused => {
                    let text = answered.texts.pop().unwrap_or_default();
                    return Err(AgentError::Refused(text).into());
                }
            }
            *slot = Some(agent);
            let may_end = turn.finish(&answered.texts, answered.usage).await?;
            state.end()?;
            if may_end {
                return Ok(());
            }
        }
    }
}
