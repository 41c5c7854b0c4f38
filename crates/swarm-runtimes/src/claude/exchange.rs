//! One turn of Claude Code: a user message, and what it prints until its result.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::{Value, json};
use swarm_agent::{AgentError, ForeignCall, Turn, TurnStop};
use swarm_protocol::{AgentEvent, ToolKind, Usage};
use swarm_tools::one_line;
use tokio::time::{Instant, sleep_until};
use uuid::Uuid;

use crate::approvals::Approvals;
use crate::asking_mode;
use crate::cut_turn::{CutTurn, text_blocks};
use crate::handed_server::split_name;
use crate::open_requests::OpenRequests;
use crate::program::{Incoming, Program};
use crate::reply::Reply;

/// The id of a permission request, and its answer.
type Answered = (Value, Value);

/// A turn in progress.
pub(super) struct Exchange<'a> {
    turn: &'a Turn<'a>,
    reply: Reply,
    /// Full name of the model that answered last.
    model: Option<String>,
    /// Usage of its messages, by their ids.
    used: HashMap<String, Usage>,
    /// Its questions, and its calls of the member's MCP servers.
    requests: OpenRequests<'a, Answered>,
    approvals: Arc<Approvals>,
}

impl<'a> Exchange<'a> {
    pub(super) fn new(turn: &'a Turn<'a>) -> Self {
        Self {
            turn,
            reply: Reply::default(),
            model: None,
            used: HashMap::new(),
            requests: OpenRequests::new(&turn.signals().cancel),
            approvals: Arc::default(),
        }
    }

    /// Returns the full name of the model that answered.
    pub(super) fn model(&self) -> Option<&str> {
        self.model.as_deref()
    }

    /// Returns the texts and the usage of the turn.
    pub(super) fn finish(mut self) -> (Vec<String>, Usage) {
        if self.reply.usage.total() == 0 {
            for used in self.used.into_values() {
                self.reply.usage += used;
            }
        }
        self.reply.finish(self.turn)
    }

    /// Sends the messages and serves the program until its result. Returns `false` if the turn was
    /// cancelled. Questions that are then still open are withdrawn.
    pub(super) async fn run(
        &mut self,
        claude: &mut Program,
        texts: &[String],
        state: &mut CutTurn,
    ) -> Result<bool, TurnStop> {
        let is_done = self.serve(claude, texts, state).await;
        let grace = self.turn.parts().limits.cancel_grace;
        self.requests.withdraw(grace).await;
        is_done
    }

    async fn serve(
        &mut self,
        claude: &mut Program,
        texts: &[String],
        state: &mut CutTurn,
    ) -> Result<bool, TurnStop> {
        let message = json!({"role": "user", "content": text_blocks(texts)});
        let user = json!({
            "type": "user", "message": message, "parent_tool_use_id": null, "session_id": "",
        });
        // The mode may have changed since the last turn, also by Claude Code itself.
        let mode = asking_mode(self.turn.parts().rights.mode());
        let mode = json!({"subtype": "set_permission_mode", "mode": mode});
        request(claude, mode).await?;
        claude.write(&user).await?;
        let signals = self.turn.signals().clone();
        let mut give_up: Option<Instant> = None;
        loop {
            tokio::select! {
                incoming = claude.receive() => match incoming? {
                    Incoming::Message(message) => {
                        if let Some(result) = self.take(claude, message, state).await? {
                            return self.end(&result, give_up.is_some());
                        }
                    }
                    Incoming::Call(call) => {
                        let (turn, cancel) = (self.turn, self.requests.cancel());
                        let approvals = Arc::clone(&self.approvals);
                        self.requests.push(Box::pin(async move {
                            call.run(turn, &approvals, cancel).await;
                            None
                        }));
                    }
                },
                (id, answer) = self.requests.next() => respond(claude, &id, &answer).await?,
                () = signals.over(), if give_up.is_none() => {
                    give_up = Some(Instant::now() + self.turn.parts().limits.cancel_grace);
                    request(claude, json!({"subtype": "interrupt"})).await?;
                }
                () = sleep_until(give_up.unwrap_or_else(Instant::now)), if give_up.is_some() => {
                    return Err(TurnStop::Interrupted);
                }
            }
        }
    }

    /// Handles one message. Returns the result of the turn.
    async fn take(
        &mut self,
        claude: &mut Program,
        message: Value,
        state: &mut CutTurn,
    ) -> Result<Option<Value>, TurnStop> {
        match message["type"].as_str() {
            Some("system") if message["subtype"] == "init" => {
                state.received()?;
                if let Some(session) = message["session_id"].as_str() {
                    state.set_session(session)?;
                }
                self.answers(&message["model"]);
            }
            Some("assistant") => {
                state.received()?;
                self.used(&message["message"]);
                // Messages of Claude Code's own sub-agents are part of the call that started them.
                if message["parent_tool_use_id"].is_null() {
                    self.answers(&message["message"]["model"]);
                    self.said(&message["message"]["content"]);
                }
            }
            Some("user") if message["parent_tool_use_id"].is_null() => {
                self.results(&message["message"]["content"]);
            }
            Some("control_response") if message["response"]["subtype"] == "error" => {
                let why = message["response"]["error"].as_str().unwrap_or_default();
                let line = format!("claude: {}", one_line(why));
                self.turn.emit(AgentEvent::Notice { line });
            }
            Some("control_request") => self.control(claude, &message).await?,
            Some("result") => return Ok(Some(message)),
            _ => {}
        }
        Ok(None)
    }

    /// Takes the id of the model that answers. Claude Code's own messages, such as those about errors,
    /// have `<synthetic>`.
    fn answers(&mut self, model: &Value) {
        if let Some(model) = model.as_str().filter(|model| !model.starts_with('<')) {
            self.model = Some(format!("anthropic/{model}"));
        }
    }

    /// Takes the usage of a message, for a turn that ends without a result. Each block of a message
    /// arrives with the usage of the whole message.
    fn used(&mut self, message: &Value) {
        let id = message["id"].as_str().unwrap_or_default();
        self.used.insert(id.to_owned(), usage(&message["usage"]));
    }

    fn said(&mut self, content: &Value) {
        for block in content.as_array().into_iter().flatten() {
            let text = |field: &str| block[field].as_str().unwrap_or_default();
            match block["type"].as_str() {
                Some("text") => {
                    self.reply.text(self.turn, text("text"));
                    self.reply.end_text(self.turn);
                }
                Some("thinking") => Reply::thinking(self.turn, text("thinking")),
                Some("tool_use") => {
                    let call = call_of(text("id"), text("name"), &block["input"]);
                    let (id, tool) = (call.id.as_str(), call.tool.as_str());
                    self.reply.call_started(self.turn, id, tool, call.line);
                }
                _ => {}
            }
        }
    }

    fn results(&mut self, content: &Value) {
        for block in content.as_array().into_iter().flatten() {
            let Some(id) = block["tool_use_id"].as_str() else {
                continue;
            };
            let output = match &block["content"] {
                Value::String(text) => text.clone(),
                parts => {
                    let parts = parts.as_array().into_iter().flatten();
                    let texts = parts.filter_map(|part| part["text"].as_str());
                    texts.collect::<Vec<_>>().join("\n")
                }
            };
            let ok = block["is_error"] != true;
            self.reply.call_ended(self.turn, id, ok, output.trim_end());
        }
    }

    /// Begins to answer a permission request; other requests are refused.
    async fn control(&mut self, claude: &mut Program, message: &Value) -> Result<(), AgentError> {
        let (id, request) = (message["request_id"].clone(), &message["request"]);
        if request["subtype"] != "can_use_tool" {
            let error = json!({
                "subtype": "error", "request_id": id, "error": "not available in a team",
            });
            let response = json!({"type": "control_response", "response": error});
            return claude.write(&response).await;
        }
        let text = |field: &str| request[field].as_str().unwrap_or_default();
        let call = call_of(text("tool_use_id"), text("tool_name"), &request["input"]);
        let (turn, cancel) = (self.turn, self.requests.cancel());
        let approvals = Arc::clone(&self.approvals);
        self.requests.push(Box::pin(async move {
            let answer = match turn.permit(&call, &cancel).await {
                Ok(input) => {
                    if split_name(&call.tool).is_some() {
                        approvals.add(&call.tool, input.clone(), input.clone());
                    }
                    json!({"behavior": "allow", "updatedInput": input})
                }
                Err(why) => json!({"behavior": "deny", "message": why}),
            };
            Some((id, answer))
        }));
        Ok(())
    }

    /// Evaluates the result of a turn. Returns `false` if it was cancelled.
    fn end(&mut self, result: &Value, was_cancelled: bool) -> Result<bool, TurnStop> {
        self.reply.usage = usage(&result["usage"]);
        if was_cancelled {
            return Ok(false);
        }
        if result["is_error"] == true {
            let kind = result["subtype"].as_str().unwrap_or("an error");
            let why = result["result"].as_str().unwrap_or(kind);
            let why = format!("claude: {why}");
            return Err(AgentError::Runtime(why).into());
        }
        Ok(true)
    }
}

/// Returns the counts of a `usage` object.
fn usage(usage: &Value) -> Usage {
    let count = |field: &str| usage[field].as_u64().unwrap_or(0);
    Usage {
        input_tokens: count("input_tokens"),
        output_tokens: count("output_tokens"),
        cache_read_input_tokens: count("cache_read_input_tokens"),
        cache_creation_input_tokens: count("cache_creation_input_tokens"),
    }
}

/// Sends a request to the program; it reports a failure in a `control_response`.
async fn request(claude: &mut Program, request: Value) -> Result<(), AgentError> {
    let id = Uuid::new_v4().to_string();
    let request = json!({"type": "control_request", "request_id": id, "request": request});
    claude.write(&request).await
}

async fn respond(claude: &mut Program, id: &Value, answer: &Value) -> Result<(), AgentError> {
    let success = json!({"subtype": "success", "request_id": id, "response": answer});
    let response = json!({"type": "control_response", "response": success});
    claude.write(&response).await
}

/// Returns a call; Claude Code's tools have the names and inputs of swarm's.
fn call_of(id: &str, tool: &str, input: &Value) -> ForeignCall {
    let kind = match tool {
        "Bash" => ToolKind::Execute,
        "Read" => ToolKind::Read,
        "Edit" | "Write" | "NotebookEdit" => ToolKind::Edit,
        "WebFetch" | "WebSearch" => ToolKind::Web,
        _ => ToolKind::Other,
    };
    let fields = ["command", "file_path", "url", "pattern", "description"];
    let mut known = fields.iter().filter_map(|field| input[*field].as_str());
    let line = match known.next() {
        Some(text) => format!("{tool} {text}"),
        None if split_name(tool).is_some() => format!("{tool} {input}"),
        None => tool.to_owned(),
    };
    ForeignCall {
        id: id.to_owned(),
        tool: tool.to_owned(),
        input: input.clone(),
        line: one_line(&line),
        kind,
    }
}
