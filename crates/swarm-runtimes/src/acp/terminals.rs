//! `terminal/*`: commands of the agent run by swarm's Bash tool, with its checks and its sandbox.

use std::collections::HashMap;
use std::sync::Arc;

use futures::future::BoxFuture;
use parking_lot::Mutex;
use serde_json::{Value, json};
use swarm_agent::Turn;
use swarm_tools::ToolOutput;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::calls::command_call;
use crate::program::quoted;

/// A command of the agent.
#[derive(Debug, Clone)]
struct Terminal {
    /// The result, once it has ended.
    output: watch::Receiver<Option<ToolOutput>>,
    stop: CancellationToken,
}

/// The commands of one turn, by id. They end with the turn.
#[derive(Debug, Default)]
pub(super) struct Terminals(Mutex<HashMap<String, Terminal>>);

impl Terminals {
    /// Registers a command, which `stop` ends. Returns its id and the future that runs it.
    pub(super) fn create<'a>(
        &self,
        turn: &'a Turn<'a>,
        params: &Value,
        stop: CancellationToken,
    ) -> (String, BoxFuture<'a, ()>) {
        let (ended, output) = watch::channel(None);
        let terminal = Terminal {
            output,
            stop: stop.clone(),
        };
        let id = {
            let mut terminals = self.0.lock();
            let id = format!("terminal-{}", terminals.len() + 1);
            terminals.insert(id.clone(), terminal);
            id
        };
        let call = command_call(&id, &command_line(params));
        let run = async move {
            let output = turn.run_tool(&call, stop).await;
            // Nobody waits for a command that was released.
            ended.send_replace(Some(output));
        };
        (id, Box::pin(run))
    }

    /// Serves the other methods; `None` if there is none of this name.
    pub(super) fn serve(
        self: &Arc<Self>,
        method: &str,
        params: &Value,
    ) -> Option<BoxFuture<'static, Result<Value, String>>> {
        let action = match method {
            "terminal/output" => output,
            "terminal/wait_for_exit" => return Some(Box::pin(wait(self.find(params)))),
            "terminal/kill" | "terminal/release" => stop,
            _ => return None,
        };
        let found = self.find(params);
        Some(Box::pin(async move { Ok(action(&found?)) }))
    }

    fn find(&self, params: &Value) -> Result<Terminal, String> {
        let id = params["terminalId"].as_str().unwrap_or_default();
        let found = self.0.lock().get(id).cloned();
        found.ok_or_else(|| format!("terminal {id} not found"))
    }
}

/// Returns the command line of a request, with its directory and variables.
fn command_line(params: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let args = params["args"].as_array().into_iter().flatten();
    let mut line = text(&params["command"]);
    for arg in args {
        line.push(' ');
        line.push_str(&quoted(&text(arg)));
    }
    let variables = params["env"].as_array().into_iter().flatten();
    let mut before = String::new();
    if let Some(directory) = params["cwd"].as_str() {
        before = format!("cd {} && ", quoted(directory));
    }
    for variable in variables {
        let (name, value) = (text(&variable["name"]), text(&variable["value"]));
        before.extend(["export ", &name, "=", &quoted(&value), " && "]);
    }
    before + &line
}

fn status(output: &ToolOutput) -> Value {
    json!({"exitCode": u8::from(output.is_error), "signal": null})
}

fn output(terminal: &Terminal) -> Value {
    match &*terminal.output.borrow() {
        Some(output) => {
            json!({"output": output.content, "truncated": false, "exitStatus": status(output)})
        }
        None => json!({"output": "", "truncated": false}),
    }
}

fn stop(terminal: &Terminal) -> Value {
    terminal.stop.cancel();
    json!({})
}

async fn wait(found: Result<Terminal, String>) -> Result<Value, String> {
    let mut terminal = found?;
    let ended = terminal.output.wait_for(Option::is_some).await;
    let ended = ended.map_err(|_dropped| "the turn ended before the command".to_owned())?;
    Ok(ended.as_ref().map_or(Value::Null, status))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_line_keeps_arguments_directory_and_variables() {
        let params = json!({
            "command": "make", "args": ["all", "a b"], "cwd": "/work/x y",
            "env": [{"name": "V", "value": "1; rm x"}],
        });
        assert_eq!(
            command_line(&params),
            "cd '/work/x y' && export V='1; rm x' && make all 'a b'"
        );
    }
}
