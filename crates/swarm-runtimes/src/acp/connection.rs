//! The connection to one agent: requests, responses and sessions.

use serde_json::{Value, json};
use swarm_agent::{AgentError, AgentParts};

use crate::ProgramSpec;
use crate::handed_server::RelayedCall;
use crate::program::{Incoming, Program};
use crate::sandbox::Launch;

/// The protocol version of this client.
const VERSION: u64 = 1;

/// JSON-RPC's code for an unknown method.
const METHOD_NOT_FOUND: i64 = -32601;
/// The protocol's code of an agent that needs a login.
const AUTH_REQUIRED: i64 = -32000;

/// A message of the agent.
#[derive(Debug)]
pub(super) enum Message {
    /// The response to our request with this id.
    Response {
        id: u64,
        outcome: Result<Value, Value>,
    },
    /// A request, with the id for the response.
    Request {
        id: Value,
        method: String,
        params: Value,
    },
    /// A notification.
    Notification { method: String, params: Value },
    /// A call of a tool of the member's MCP servers, which is not a message of the protocol.
    Call(RelayedCall),
}

impl Message {
    fn of(mut message: Value) -> Option<Self> {
        let params = message["params"].take();
        let id = message["id"].take();
        if let Some(method) = message["method"].as_str() {
            let method = method.to_owned();
            return Some(if id.is_null() {
                Self::Notification { method, params }
            } else {
                Self::Request { id, method, params }
            });
        }
        let outcome = match message["error"].take() {
            Value::Null => Ok(message["result"].take()),
            error => Err(error),
        };
        Some(Self::Response {
            id: id.as_u64()?,
            outcome,
        })
    }
}

#[derive(Debug)]
pub(super) struct AcpSession {
    pub(super) id: String,
    /// Ids of its modes, such as `default` and `plan`.
    pub(super) modes: Vec<String>,
}

impl AcpSession {
    /// Reads the response that opened the session.
    fn of(id: &str, response: &Value) -> Self {
        let modes = response["modes"]["availableModes"].as_array();
        let ids = modes.into_iter().flatten();
        let ids = ids.filter_map(|mode| Some(mode["id"].as_str()?.to_owned()));
        Self {
            id: id.to_owned(),
            modes: ids.collect(),
        }
    }
}

/// A program that speaks the protocol.
#[derive(Debug)]
pub(super) struct Connection {
    program: Program,
    name: String,
    next_id: u64,
    /// Whether the agent continues sessions of earlier processes.
    loads_sessions: bool,
}

impl Connection {
    /// Starts the program and agrees on the protocol version.
    pub(super) async fn open(
        spec: &ProgramSpec,
        agent: &AgentParts,
        launch: Launch,
    ) -> Result<Self, AgentError> {
        let mut connection = Self {
            program: Program::start(spec, agent, launch)?,
            name: spec.name.clone(),
            next_id: 0,
            loads_sessions: false,
        };
        let hello = json!({
            "protocolVersion": VERSION,
            "clientCapabilities": {
                "fs": {"readTextFile": true, "writeTextFile": true},
                "terminal": true,
            },
            "clientInfo": {"name": "swarm", "title": "swarm", "version": env!("CARGO_PKG_VERSION")},
        });
        let told = connection.call("initialize", &hello).await?;
        let spoken = &told["protocolVersion"];
        if spoken.as_u64() != Some(VERSION) {
            return Err(connection.failure(&format!(
                "it speaks version {spoken} of the Agent Client Protocol, not {VERSION}"
            )));
        }
        let loads = &told["agentCapabilities"]["loadSession"];
        connection.loads_sessions = loads.as_bool().unwrap_or(false);
        Ok(connection)
    }

    pub(super) fn has_exited(&mut self) -> bool {
        self.program.has_exited()
    }

    /// Returns the address of its MCP servers.
    pub(super) fn relay_address(&self) -> &str {
        self.program.relay_address()
    }

    pub(super) async fn new_session(&mut self, place: &Value) -> Result<AcpSession, AgentError> {
        let session = self.call("session/new", place).await?;
        match session["sessionId"].as_str() {
            Some(id) => Ok(AcpSession::of(id, &session)),
            None => Err(self.failure("it returned no session id")),
        }
    }

    /// Continues a session of an earlier process. The agent repeats its history, which the pane has
    /// shown before.
    pub(super) async fn load_session(
        &mut self,
        session: &str,
        place: &Value,
    ) -> Result<AcpSession, AgentError> {
        if !self.loads_sessions {
            return Err(self.failure("it cannot continue a session"));
        }
        let mut params = place.clone();
        params["sessionId"] = json!(session);
        let loaded = self.call("session/load", &params).await?;
        Ok(AcpSession::of(session, &loaded))
    }

    /// Sets the mode of a session to the first of `modes` that the agent has. Returns whether it has
    /// one.
    pub(super) async fn set_mode(
        &mut self,
        session: &AcpSession,
        modes: &[&str],
    ) -> Result<bool, AgentError> {
        let is_known = |mode: &&&str| session.modes.iter().any(|known| known == **mode);
        let Some(mode) = modes.iter().find(is_known) else {
            return Ok(false);
        };
        let params = json!({"sessionId": session.id, "modeId": mode});
        self.call("session/set_mode", &params).await?;
        Ok(true)
    }

    /// Sends a request outside of a turn and waits for its response. Nothing that the agent asks
    /// meanwhile is granted.
    async fn call(&mut self, method: &str, params: &Value) -> Result<Value, AgentError> {
        let sent = self.request(method, params).await?;
        loop {
            match self.receive().await? {
                Message::Response { id, outcome } if id == sent => {
                    return outcome.map_err(|error| self.refusal(method, &error));
                }
                Message::Request { id, method, .. } => self.refuse(&id, &method).await?,
                Message::Response { .. } | Message::Notification { .. } | Message::Call(_) => {}
            }
        }
    }

    /// Sends a request and returns its id.
    pub(super) async fn request(
        &mut self,
        method: &str,
        params: &Value,
    ) -> Result<u64, AgentError> {
        let id = self.next_id;
        self.next_id += 1;
        let request = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        self.program.write(&request).await?;
        Ok(id)
    }

    /// Sends a notification.
    pub(super) async fn notify(&mut self, method: &str, params: &Value) -> Result<(), AgentError> {
        let message = json!({"jsonrpc": "2.0", "method": method, "params": params});
        self.program.write(&message).await
    }

    /// Sends the response to a request of the agent.
    pub(super) async fn respond(
        &mut self,
        id: &Value,
        outcome: Result<Value, String>,
    ) -> Result<(), AgentError> {
        let response = match outcome {
            Ok(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
            Err(why) => {
                let error = json!({"code": -32603, "message": why});
                json!({"jsonrpc": "2.0", "id": id, "error": error})
            }
        };
        self.program.write(&response).await
    }

    /// Refuses a request that this client does not serve.
    pub(super) async fn refuse(&mut self, id: &Value, method: &str) -> Result<(), AgentError> {
        let message = format!("{method} is not available");
        let error = json!({"code": METHOD_NOT_FOUND, "message": message});
        let response = json!({"jsonrpc": "2.0", "id": id, "error": error});
        self.program.write(&response).await
    }

    /// Reads the next message. Can be cancelled without losing one.
    pub(super) async fn receive(&mut self) -> Result<Message, AgentError> {
        loop {
            let message = match self.program.receive().await? {
                Incoming::Message(message) => Message::of(message),
                Incoming::Call(call) => Some(Message::Call(call)),
            };
            if let Some(message) = message {
                return Ok(message);
            }
        }
    }

    pub(super) fn refusal(&self, method: &str, error: &Value) -> AgentError {
        let message = error["message"].as_str().unwrap_or("no message");
        // The reason is often only in the data.
        let data = match &error["data"] {
            Value::Null => String::new(),
            Value::String(text) => format!(" ({text})"),
            data => format!(" ({data})"),
        };
        let hint = if error["code"].as_i64() == Some(AUTH_REQUIRED) {
            ". Log in with that program once in your own terminal, or pass its key with `--env`"
        } else {
            ""
        };
        self.failure(&format!("{method} failed: {message}{data}{hint}"))
    }

    fn failure(&self, why: &str) -> AgentError {
        AgentError::Runtime(format!("{}: {why}", self.name))
    }
}
