//! A small MCP server, implemented without the SDK that the client uses.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use parking_lot::{Condvar, Mutex};
use serde_json::{Value, json};

/// Behaviour of the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Behaviour {
    /// Correct.
    Well,
    /// Never answers.
    Silent,
    /// Exits immediately.
    Exits,
    /// Writes to standard error endlessly.
    Floods,
    /// Neither it nor its child exits when its input is closed.
    Stubborn,
    /// Supports only the stateless protocol of 2026-07-28.
    Stateless,
    /// Exits if its first request is not `initialize`.
    Abrupt,
    /// Does not answer unknown methods.
    Unresponsive,
    /// Supports only the stateless protocol, and on its first start answers nothing before the
    /// second request.
    SlowStateless,
    /// Has resources and prompts, asks for input, and reports progress.
    Rich,
    /// Like `Rich`, over the stateless protocol.
    RichStateless,
    /// Has so many tools that they are deferred.
    Many,
    /// Over HTTP: rejects every request except `initialize` without a session with 400, as many
    /// servers do.
    Guarded,
    /// Two of its tools map to one name.
    Collides,
    /// Over HTTP: loses its session after every answered call, and reports that with 400.
    Forgets,
    /// Over HTTP: rejects every call with 400 and a body that names no request.
    Refuses,
    /// Over HTTP: every response stream breaks before the answer, and cannot be resumed.
    Drops,
}

impl FromStr for Behaviour {
    type Err = String;
    fn from_str(word: &str) -> Result<Self, String> {
        Ok(match word {
            "well" => Self::Well,
            "silent" => Self::Silent,
            "exits" => Self::Exits,
            "floods" => Self::Floods,
            "stubborn" => Self::Stubborn,
            "stateless" => Self::Stateless,
            "abrupt" => Self::Abrupt,
            "unresponsive" => Self::Unresponsive,
            "slow-stateless" => Self::SlowStateless,
            "rich" => Self::Rich,
            "rich-stateless" => Self::RichStateless,
            "many" => Self::Many,
            "guarded" => Self::Guarded,
            "collides" => Self::Collides,
            "forgets" => Self::Forgets,
            "refuses" => Self::Refuses,
            "drops" => Self::Drops,
            other => return Err(format!("unknown behaviour {other}")),
        })
    }
}

/// The protocol without a handshake.
const STATELESS: &str = "2026-07-28";

/// Reaction to a message.
#[derive(Debug, Clone, PartialEq)]
pub enum Reply {
    /// An answer.
    Json(Value),
    /// No answer: it was a notification, or the request was cancelled.
    Nothing,
}

/// A server and its cancelled calls.
#[derive(Debug)]
pub struct Server {
    behaviour: Behaviour,
    cancelled: Mutex<Vec<Value>>,
    /// The client's answers to requests of the server.
    answers: Mutex<Vec<Value>>,
    changed: Condvar,
    session: AtomicU32,
}

impl Server {
    /// Creates a server with this behaviour.
    pub fn new(behaviour: Behaviour) -> Self {
        Self {
            behaviour,
            cancelled: Mutex::default(),
            answers: Mutex::default(),
            changed: Condvar::new(),
            session: AtomicU32::new(1),
        }
    }

    /// Returns the behaviour.
    pub fn behaviour(&self) -> Behaviour {
        self.behaviour
    }

    /// Handles one message.
    pub fn answer(&self, line: &str) -> Reply {
        let Ok(message) = serde_json::from_str::<Value>(line) else {
            return Reply::Nothing;
        };
        let id = &message["id"];
        if message.get("method").is_none() {
            self.answers.lock().push(message);
            self.changed.notify_all();
            return Reply::Nothing;
        }
        if message["method"] == "notifications/cancelled" {
            let mut cancelled = self.cancelled.lock();
            cancelled.push(message["params"]["requestId"].clone());
            self.changed.notify_all();
        }
        if id.is_null() {
            return Reply::Nothing;
        }
        let is_stateless = matches!(
            self.behaviour,
            Behaviour::Stateless | Behaviour::SlowStateless | Behaviour::RichStateless
        );
        let is_rich = matches!(self.behaviour, Behaviour::Rich | Behaviour::RichStateless);
        let version = &message["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"];
        let mut result = match message["method"].as_str().unwrap_or_default() {
            _ if is_stateless && version != STATELESS => {
                let error = json!({"code": -32601, "message": "there is no handshake"});
                return Reply::Json(json!({"jsonrpc": "2.0", "id": id, "error": error}));
            }
            "server/discover" if is_stateless => json!({
                "supportedVersions": [STATELESS],
                "capabilities": if is_rich { json!({"tools": {}, "resources": {}, "prompts": {}}) } else { json!({"tools": {}}) },
                "ttlMs": 0,
                "cacheScope": "private",
            }),
            "initialize" => json!({
                "protocolVersion": message["params"]["protocolVersion"],
                "capabilities": if is_rich { json!({"tools": {}, "resources": {}, "prompts": {}}) } else { json!({"tools": {"listChanged": true}}) },
                "serverInfo": {"name": "serves-mcp", "version": "1"},
            }),
            "tools/list" => json!({"tools": self.tools()}),
            "tools/call" => match self.call(&message) {
                Some(result) => result,
                None => return Reply::Nothing,
            },
            "resources/list" if is_rich => json!({"resources": [
                {"uri": "kit://readme", "name": "readme", "mimeType": "text/plain"}]}),
            "resources/templates/list" if is_rich => json!({"resourceTemplates": [
                {"uriTemplate": "kit://{name}", "name": "any"}]}),
            "resources/read" if is_rich => json!({"contents": [
                {"uri": message["params"]["uri"], "mimeType": "text/plain", "text": "Read me."}]}),
            "prompts/list" if is_rich => json!({"prompts": [
                {"name": "review", "arguments": [{"name": "file", "required": true}, {"name": "tone"}]}]}),
            "prompts/get" if is_rich => {
                let text = format!("Review {}", message["params"]["arguments"]);
                json!({"messages": [{"role": "user", "content": {"type": "text", "text": text}}]})
            }
            _ if self.behaviour == Behaviour::Unresponsive => return Reply::Nothing,
            _ => {
                let error = json!({"code": -32601, "message": "no such method"});
                return Reply::Json(json!({"jsonrpc": "2.0", "id": id, "error": error}));
            }
        };
        if is_stateless {
            if result.get("resultType").is_none() {
                result["resultType"] = json!("complete");
            }
            result["ttlMs"] = json!(0);
            result["cacheScope"] = json!("private");
        }
        Reply::Json(json!({"jsonrpc": "2.0", "id": id, "result": result}))
    }

    fn tools(&self) -> Vec<Value> {
        let text = json!({"type": "object", "properties": {"text": {"type": "string"}}});
        let tool = |name: &str| {
            json!({"name": name, "description": format!("The tool {name}."), "inputSchema": text,
                "annotations": {"readOnlyHint": true}})
        };
        let mut tools: Vec<_> = ["echo", "pid", "env", "huge", "fails", "dies", "slow"]
            .map(tool)
            .to_vec();
        if matches!(self.behaviour, Behaviour::Rich | Behaviour::RichStateless) {
            tools.extend(["ask", "steps"].map(tool));
        }
        if self.behaviour == Behaviour::Many {
            tools.extend((0..60).map(|number| {
                let mut tool = tool(&format!("many_{number}"));
                tool["description"] = json!("Does many things. ".repeat(50));
                tool
            }));
        }
        if self.behaviour == Behaviour::Collides {
            tools.extend([tool("a.b"), tool("a/b")]);
        }
        tools
    }

    fn call(&self, message: &Value) -> Option<Value> {
        let params = &message["params"];
        let given = params["arguments"]["text"].as_str().unwrap_or_default();
        let said = |text: String| Some(json!({"content": [{"type": "text", "text": text}]}));
        match params["name"].as_str().unwrap_or_default() {
            "echo" => said(format!("echo: {given}")),
            "pid" => said(std::process::id().to_string()),
            "huge" => said("x".repeat(2_000_000)),
            #[expect(
                clippy::disallowed_methods,
                reason = "the test asks for its environment"
            )]
            "env" => said(std::env::var(given).unwrap_or_else(|_| "(not set)".to_owned())),
            "fails" => Some(
                json!({"isError": true, "content": [{"type": "text", "text": "it did not work"}]}),
            ),
            "dies" => std::process::exit(1),
            "ask" if self.behaviour == Behaviour::RichStateless => {
                let answer = &params["inputResponses"]["form"];
                if answer.is_null() {
                    let request = json!({"method": "elicitation/create", "params": form(given)});
                    return Some(
                        json!({"resultType": "input_required", "requestState": "7", "inputRequests": {"form": request}}),
                    );
                }
                said(format!("{answer} {}", params["requestState"]))
            }
            "ask" => {
                say(
                    &json!({"jsonrpc": "2.0", "id": "form", "method": "elicitation/create", "params": form(given)}),
                );
                let mut answers = self.answers.lock();
                self.changed
                    .wait_while(&mut answers, |answers| answers.is_empty());
                let answer = answers.remove(0);
                said(answer.get("result").unwrap_or(&answer["error"]).to_string())
            }
            "steps" => {
                let token = &params["_meta"]["progressToken"];
                say(
                    &json!({"jsonrpc": "2.0", "method": "notifications/progress",
                    "params": {"progressToken": token, "progress": 1, "total": 3, "message": "counting"}}),
                );
                self.wait_for_cancel(&message["id"]);
                None
            }
            "slow" => {
                self.wait_for_cancel(&message["id"]);
                if !given.is_empty() {
                    drop(std::fs::File::create(given));
                }
                None
            }
            other => Some(
                json!({"isError": true, "content": [{"type": "text", "text": format!("no tool {other}")}]}),
            ),
        }
    }

    /// Returns the faulty HTTP response to a call, if any.
    fn misanswer(&self, session: &str) -> Option<String> {
        let why = match self.behaviour {
            Behaviour::Forgets => {
                let known = self.session.load(Ordering::Acquire);
                if session == known.to_string() {
                    self.session.store(known + 1, Ordering::Release);
                    return None;
                }
                "Bad Request: No valid session ID provided"
            }
            Behaviour::Guarded if session.is_empty() => "Bad Request: Server not initialized",
            Behaviour::Refuses => "the quota is used up",
            Behaviour::Drops => {
                let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream";
                return Some(format!(
                    "{head}\r\nconnection: close\r\n\r\nid: 1\ndata: \n\n"
                ));
            }
            _ => return None,
        };
        let error = json!({"code": -32000, "message": why});
        let body = json!({"jsonrpc": "2.0", "id": null, "error": error}).to_string();
        Some(format!(
            "HTTP/1.1 400 Bad Request\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
            body.len()
        ))
    }

    fn wait_for_cancel(&self, id: &Value) {
        let mut cancelled = self.cancelled.lock();
        self.changed
            .wait_while(&mut cancelled, |cancelled| !cancelled.contains(id));
    }
}

/// Sends a message over the standard streams that is not an answer.
fn say(message: &Value) {
    let mut out = std::io::stdout().lock();
    drop(writeln!(out, "{message}").and_then(|()| out.flush()));
}

/// Returns the form of an elicitation; for `url`, an address.
fn form(given: &str) -> Value {
    if given == "url" {
        let id = "e1";
        return json!({"mode": "url", "message": "Sign in", "url": "https://example.org/in", "elicitationId": id});
    }
    let properties = json!({
        "city": {"type": "string", "description": "where to"},
        "nights": {"type": "integer"},
        "room": {"type": "string", "enum": ["single", "double"]},
    });
    let schema =
        json!({"type": "object", "properties": properties, "required": ["city", "nights", "room"]});
    json!({"mode": "form", "message": "A trip?", "requestedSchema": schema})
}

/// Serves streamable HTTP on a free port of the loopback address, and writes the port into a file.
pub fn serve_http(server: &Arc<Server>, port_file: &Path) -> anyhow::Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let port = listener.local_addr()?.port();
    let half = port_file.with_extension("half");
    std::fs::File::create(&half)?.write_all(port.to_string().as_bytes())?;
    std::fs::rename(half, port_file)?;
    for stream in listener.incoming() {
        let (stream, server) = (stream?, Arc::clone(server));
        std::thread::spawn(move || drop(serve_one(&server, stream)));
    }
    Ok(())
}

/// Serves one request per connection.
fn serve_one(server: &Server, stream: TcpStream) -> anyhow::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut line = String::new();
    reader.read_line(&mut line)?;
    let method = line.split(' ').next().unwrap_or_default().to_owned();
    let (mut length, mut session) = (0, String::new());
    loop {
        line.clear();
        reader.read_line(&mut line)?;
        if line.trim().is_empty() {
            break;
        }
        let (name, value) = line.split_once(':').unwrap_or_default();
        match name.to_ascii_lowercase().as_str() {
            "content-length" => length = value.trim().parse()?,
            "mcp-session-id" => value.trim().clone_into(&mut session),
            _ => {}
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    let body = String::from_utf8_lossy(&body);
    if method == "POST"
        && (body.contains("\"tools/call\"") || server.behaviour == Behaviour::Guarded)
        && !body.contains("\"initialize\"")
        && let Some(text) = server.misanswer(&session)
    {
        let mut out = stream;
        return Ok(out.write_all(text.as_bytes())?);
    }
    let session = server.session.load(Ordering::Acquire);
    let reply = if method == "POST" {
        server.answer(&body)
    } else {
        Reply::Nothing
    };
    let mut out = stream;
    match (method.as_str(), reply) {
        ("POST", Reply::Json(answer)) => {
            let text = answer.to_string();
            write!(
                out,
                "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nmcp-session-id: {session}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{text}",
                text.len()
            )?;
        }
        ("POST", Reply::Nothing) => {
            out.write_all(
                b"HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\nconnection: close\r\n\r\n",
            )?;
        }
        ("DELETE", _) => {
            out.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")?;
        }
        ("GET", _) if server.behaviour == Behaviour::Drops => out.write_all(
            b"HTTP/1.1 503 Service Unavailable\r\ncontent-length: 0\r\nconnection: close\r\n\r\n",
        )?,
        // It has no server-initiated messages.
        _ => out.write_all(
            b"HTTP/1.1 405 Method Not Allowed\r\ncontent-length: 0\r\nconnection: close\r\n\r\n",
        )?,
    }
    Ok(out.flush()?)
}
