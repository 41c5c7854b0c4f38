//! `swarm acp`: a lead for a client of the Agent Client Protocol.
//!
//! Each session of the client is a lead with its own thread and directory. If the client goes away,
//! the leads end as with a closed terminal.

use std::io::{self, BufRead as _, IsTerminal as _};
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::JoinHandle;

use serde_json::{Map, Value, json};
use swarm_os::process::forbid_inspection;
use swarm_protocol::ErrorKind;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use super::acting::require_person;
use super::lead::{
    ClientLink, ClientSession, ClientSessions, Earlier, LeadConsole, LeadFlags, RpcError, converse,
};
use super::{EndSignals, runtime};
use crate::app::App;
use crate::failure::{Failure, Result};
use crate::identity::Acting;
use crate::own_process::VERSION;

const PROTOCOL: u64 = 1;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
An editor starts this command and talks to it over standard input and output. Each session is a lead in the session's \
directory. Questions of the lead and of its members, with the member's name, are shown in the editor. When the editor \
exits, members wait for `swarm resume`.

Examples:
  swarm acp
  swarm acp --model opus --mode acceptEdits")]
pub(crate) struct AcpArgs {
    #[command(flatten)]
    pub(crate) lead: LeadFlags,
}

pub(super) fn run(app: &App, args: AcpArgs) -> Result<()> {
    let acting = require_person(app, "acp")?;
    acting.require_trust("acp", args.lead.trust)?;
    if io::stdin().is_terminal() {
        let message =
            "`swarm acp` talks to an editor over standard input, which is a terminal here";
        return Err(Failure::environment(message).with_hint(
            "name the command in the editor's settings; `swarm lead` is for terminals",
        ));
    }
    forbid_inspection();
    let (link, writer) = ClientLink::start(io::stdout());
    let server = Server {
        app,
        acting,
        flags: args.lead,
        link: Arc::clone(&link),
        sessions: Arc::default(),
    };
    let runtime = runtime()?;
    runtime.block_on(async { server.serve(lines(), EndSignals::listen()?).await })?;
    link.close();
    writer.join().ok();
    // The thread that reads ends with the process.
    runtime.shutdown_background();
    Ok(())
}

/// Reads the client's messages on a thread.
fn lines() -> UnboundedReceiver<String> {
    let (sender, lines) = unbounded_channel();
    std::thread::spawn(move || {
        let lines = io::stdin().lock().lines();
        for line in lines.map_while(Result::ok) {
            if sender.send(line).is_err() {
                return;
            }
        }
    });
    lines
}

struct Server<'a> {
    app: &'a App,
    acting: Acting,
    flags: LeadFlags,
    link: Arc<ClientLink>,
    sessions: Arc<ClientSessions>,
}

impl Server<'_> {
    /// Serves the client until it goes away or a signal ends the process, and then waits for the
    /// leads. The first Ctrl-C stops their teams gracefully, the second kills them.
    async fn serve(
        &self,
        mut lines: UnboundedReceiver<String>,
        mut signals: EndSignals,
    ) -> Result<()> {
        let mut leads = Vec::new();
        let is_client_gone = loop {
            tokio::select! {
                line = lines.recv() => match line {
                    Some(line) => leads.extend(self.take(&line)),
                    None => break true,
                },
                _ = signals.hangup.recv() => break true,
                _ = signals.interrupt.recv() => break false,
                _ = signals.terminate.recv() => break false,
            }
        };
        self.link.hang_up();
        self.sessions.each(|session| session.stop(is_client_gone));
        let ended =
            tokio::task::spawn_blocking(move || leads.into_iter().try_for_each(JoinHandle::join));
        tokio::pin!(ended);
        loop {
            tokio::select! {
                ended = &mut ended => {
                    return match ended {
                        Ok(Ok(())) => Ok(()),
                        _ => Err(Failure::new(ErrorKind::Internal, "a session failed")),
                    };
                }
                _ = signals.interrupt.recv() => {}
                _ = signals.terminate.recv() => {}
            }
            self.sessions.each(|session| session.stop(false));
        }
    }

    /// Handles a message. Returns the thread of a session that it opens.
    fn take(&self, line: &str) -> Option<JoinHandle<()>> {
        if line.trim().is_empty() {
            return None;
        }
        let message: Value = match serde_json::from_str(line) {
            Ok(message) => message,
            Err(error) => {
                let error = RpcError::not_json(format!("not JSON: {error}"));
                self.link.respond(&Value::Null, Err(error));
                return None;
            }
        };
        let (id, params) = (message.get("id"), &message["params"]);
        match (message["method"].as_str(), id) {
            (Some(method), Some(id)) => match self.request(method, id, params) {
                Ok(thread) => return thread,
                Err(error) => self.link.respond(id, Err(error)),
            },
            (Some("session/cancel"), None) => {
                if let Ok(session) = self.sessions.named(params) {
                    session.cancel();
                }
            }
            (None, Some(id)) => self.link.responded(id, message.get("result").cloned()),
            _ => {}
        }
        None
    }

    /// Handles a request, which is responded to here or by its session.
    fn request(
        &self,
        method: &str,
        id: &Value,
        params: &Value,
    ) -> Result<Option<JoinHandle<()>>, RpcError> {
        match method {
            "initialize" => self.link.respond(id, Ok(capabilities())),
            "session/new" => return self.open(id, params, None).map(Some),
            "session/load" => {
                let session = params["sessionId"].as_str().unwrap_or_default();
                return self.open(id, params, Some(session.to_owned())).map(Some);
            }
            "session/prompt" => self.sessions.named(params)?.prompt(id.clone(), params)?,
            "session/set_mode" => {
                self.sessions.named(params)?.set_mode(params)?;
                self.link.respond(id, Ok(json!({})));
            }
            method => return Err(RpcError::unknown_method(method)),
        }
        Ok(None)
    }

    /// Starts the lead of a session, in an earlier conversation or a new one.
    fn open(
        &self,
        id: &Value,
        params: &Value,
        earlier: Option<String>,
    ) -> Result<JoinHandle<()>, RpcError> {
        let cwd = PathBuf::from(params["cwd"].as_str().unwrap_or_default());
        if !cwd.is_absolute() || !cwd.is_dir() {
            let cwd = cwd.display();
            return Err(RpcError::invalid(format!(
                "`cwd` is not a directory: {cwd}"
            )));
        }
        let servers = servers(&params["mcpServers"])?;
        let app = self.app.for_session(cwd, servers)?;
        let session = ClientSession::new(Arc::clone(&self.link), id.clone(), earlier.is_some());
        let session = Arc::new(session);
        self.sessions.add(Arc::clone(&session));
        let (acting, flags) = (self.acting.clone(), self.flags.clone());
        let sessions = Arc::clone(&self.sessions);
        Ok(std::thread::spawn(move || {
            let console = LeadConsole::Client(Arc::clone(&session));
            let earlier = Earlier::asked(&app, earlier.as_deref(), false);
            let ended = earlier
                .and_then(|earlier| converse(&app, &flags, &acting, earlier, &console, None));
            sessions.remove(&session);
            session.ended(ended.err());
        }))
    }
}

fn capabilities() -> Value {
    json!({
        "protocolVersion": PROTOCOL,
        "agentInfo": {"name": "swarm", "title": "swarm", "version": VERSION},
        "agentCapabilities": {
            "loadSession": true,
            "promptCapabilities": {"image": false, "audio": false, "embeddedContext": true},
            "mcpCapabilities": {"http": true, "sse": false},
        },
        "authMethods": [],
    })
}

/// Returns the client's MCP servers in the form of `--mcp-config`; `None` without any.
fn servers(list: &Value) -> Result<Option<String>, RpcError> {
    let pairs = |list: &Value| -> Map<String, Value> {
        let pairs = list.as_array().into_iter().flatten();
        let pairs = pairs
            .filter_map(|pair| Some((pair["name"].as_str()?.to_owned(), pair["value"].clone())));
        pairs.collect()
    };
    let mut servers = Map::new();
    for server in list.as_array().into_iter().flatten() {
        let name = server["name"].as_str().unwrap_or_default();
        let config = match server["type"].as_str() {
            None | Some("stdio") => json!({
                "command": server["command"], "args": server["args"], "env": pairs(&server["env"]),
            }),
            Some("http") => json!({
                "type": "http", "url": server["url"], "headers": pairs(&server["headers"]),
            }),
            Some(kind) => {
                let message = format!("MCP server `{name}`: transport `{kind}` is not supported");
                return Err(RpcError::invalid(message));
            }
        };
        servers.insert(name.to_owned(), config);
    }
    Ok((!servers.is_empty()).then(|| json!({"mcpServers": servers}).to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_servers_of_a_client_are_handed_on() {
        let list = json!([
            {"name": "files", "command": "/bin/files", "args": ["-r"], "env": [{"name": "A", "value": "1"}]},
            {"type": "http", "name": "web", "url": "http://h/", "headers": [{"name": "X", "value": "y"}]},
        ]);
        let config: Value = serde_json::from_str(&servers(&list).unwrap().unwrap()).unwrap();
        let expected = json!({"mcpServers": {
            "files": {"command": "/bin/files", "args": ["-r"], "env": {"A": "1"}},
            "web": {"type": "http", "url": "http://h/", "headers": {"X": "y"}},
        }});
        assert_eq!(config, expected);
        assert!(servers(&json!([])).unwrap().is_none());
        assert!(servers(&json!([{"type": "sse", "name": "old", "url": "u"}])).is_err());
    }
}
