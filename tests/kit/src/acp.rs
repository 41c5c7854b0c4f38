//! A second runtime: another program that speaks the Agent Client Protocol (version 1, JSON-RPC 2.0
//! in lines over standard streams), as far as a turn needs it.

use std::process::Stdio;

use async_trait::async_trait;
use serde_json::{Value, json};
use swarm_agent::{AgentError, AgentRuntime, Turn, TurnStop};
use swarm_permissions::{PermissionOutcome, PermissionRequest};
use swarm_protocol::{AgentEvent, Usage};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::sync::Mutex;

/// The fake agent, a shell script.
const AGENT: &str = include_str!("acp-agent.sh");

/// Lets a fake agent answer that is a separate process, started at the first turn.
#[derive(Debug, Default)]
pub struct FakeAcpAgent(Mutex<Option<Connection>>);

#[derive(Debug)]
struct Connection {
    /// Terminated on drop.
    _agent: Child,
    stdin: ChildStdin,
    stdout: Lines<BufReader<ChildStdout>>,
    next_id: u64,
    session: String,
}

#[expect(clippy::needless_pass_by_value, reason = "for `map_err`")]
fn failed(why: impl ToString) -> TurnStop {
    let why = why.to_string();
    AgentError::Runtime { why }.into()
}

#[async_trait]
impl AgentRuntime for FakeAcpAgent {
    async fn answer(&self, turn: &mut Turn<'_>) -> Result<(), TurnStop> {
        let mut slot = self.0.lock().await;
        let mut connection = match slot.take() {
            Some(connection) => connection,
            None => Connection::open(turn).await?,
        };
        loop {
            let text = connection.prompt(turn).await?;
            if turn.finish(&text, Usage::default()).await? {
                // A connection is not reused after an error.
                *slot = Some(connection);
                return Ok(());
            }
        }
    }
}

impl Connection {
    async fn open(turn: &Turn<'_>) -> Result<Self, TurnStop> {
        let context = &turn.parts().tool_context;
        let mut agent = Command::new("/bin/sh")
            .args(["-c", AGENT])
            .current_dir(&context.cwd)
            .env_clear()
            .envs(&*context.env)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .map_err(failed)?;
        let (stdin, stdout) = (agent.stdin.take().unwrap(), agent.stdout.take().unwrap());
        let mut connection = Self {
            _agent: agent,
            stdin,
            stdout: BufReader::new(stdout).lines(),
            next_id: 0,
            session: String::new(),
        };
        let hello = json!({"protocolVersion": 1, "clientCapabilities": {}});
        let id = connection.request("initialize", &hello).await?;
        connection.result_of(id).await?;
        let new = json!({"cwd": context.cwd, "mcpServers": []});
        let id = connection.request("session/new", &new).await?;
        let session = connection.result_of(id).await?;
        session["sessionId"]
            .as_str()
            .unwrap_or_default()
            .clone_into(&mut connection.session);
        Ok(connection)
    }

    /// Sends one prompt with the pending messages; returns the response of the agent.
    async fn prompt(&mut self, turn: &mut Turn<'_>) -> Result<String, TurnStop> {
        let texts = turn.input().into_iter();
        let blocks: Vec<Value> = texts
            .map(|text| json!({"type": "text", "text": text}))
            .collect();
        let params = json!({"sessionId": self.session, "prompt": blocks});
        let id = self.request("session/prompt", &params).await?;
        let cancel = turn.signals().cancel.clone();
        let mut said = String::new();
        let mut is_cancelled = false;
        loop {
            let message = tokio::select! {
                message = read(&mut self.stdout) => message?,
                () = cancel.cancelled(), if !is_cancelled => {
                    is_cancelled = true;
                    let params = json!({"sessionId": self.session});
                    let cancel = json!({"jsonrpc": "2.0", "method": "session/cancel", "params": params});
                    self.write(&cancel).await?;
                    continue;
                }
            };
            if message["id"] == id && message.get("method").is_none() {
                return match message["result"]["stopReason"].as_str() {
                    Some("cancelled") => Err(TurnStop::Interrupted),
                    Some(_) => Ok(said),
                    None => Err(failed(&message["error"])),
                };
            }
            match message["method"].as_str() {
                Some("session/update") => {
                    if let Some(text) = message["params"]["update"]["content"]["text"].as_str() {
                        said.push_str(text);
                        turn.emit(AgentEvent::TextDelta {
                            text: text.to_owned(),
                        });
                    }
                }
                Some("session/request_permission") => self.permission(turn, &message).await?,
                _ => return Err(failed(format!("unexpected message {message}"))),
            }
        }
    }

    /// Passes a permission request to the member's own broker.
    async fn permission(&mut self, turn: &Turn<'_>, message: &Value) -> Result<(), TurnStop> {
        let params = &message["params"];
        let call = &params["toolCall"];
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let request = PermissionRequest {
            tool_use_id: text(&call["toolCallId"]),
            tool: "Bash".to_owned(),
            input: call["rawInput"].clone(),
            description: text(&call["title"]),
            why: "the agent asks".to_owned(),
            suggestions: Vec::new(),
            next_mode: None,
        };
        let cancel = turn.signals().cancel.clone();
        let wanted = match turn.parts().gate.ask(request, cancel).await {
            PermissionOutcome::Allow { .. } => "allow_once",
            PermissionOutcome::Deny { .. } => "reject_once",
        };
        let options = params["options"].as_array().into_iter().flatten();
        let option = options.into_iter().find(|option| option["kind"] == wanted);
        let outcome = json!({"outcome": "selected", "optionId": option.map(|it| &it["optionId"])});
        let answer = json!({"jsonrpc": "2.0", "id": message["id"], "result": {"outcome": outcome}});
        self.write(&answer).await
    }

    async fn request(&mut self, method: &str, params: &Value) -> Result<u64, TurnStop> {
        let id = self.next_id;
        self.next_id += 1;
        let request = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        self.write(&request).await?;
        Ok(id)
    }

    async fn result_of(&mut self, id: u64) -> Result<Value, TurnStop> {
        let mut message = read(&mut self.stdout).await?;
        if message["id"] != id {
            return Err(failed(format!("unexpected message {message}")));
        }
        Ok(message["result"].take())
    }

    async fn write(&mut self, message: &Value) -> Result<(), TurnStop> {
        let line = format!("{message}\n");
        self.stdin.write_all(line.as_bytes()).await.map_err(failed)
    }
}

async fn read(lines: &mut Lines<BufReader<ChildStdout>>) -> Result<Value, TurnStop> {
    let line = lines.next_line().await.map_err(failed)?;
    let line = line.ok_or_else(|| failed("it exited in the middle of a turn"))?;
    serde_json::from_str(&line).map_err(failed)
}
