//! The agent's requests during a turn.

use std::sync::Arc;

use futures::future::BoxFuture;
use parking_lot::Mutex;
use serde_json::{Value, json};
use swarm_agent::Turn;

use super::files;
use super::permission;
use super::terminals::Terminals;
use crate::approvals::Approvals;
use crate::handed_server::RelayedCall;
use crate::open_requests::OpenRequests;

/// The id of a request, and its result or why it failed.
type Served = (Value, Result<Value, String>);

pub(super) struct Requests<'a> {
    turn: &'a Turn<'a>,
    approvals: Arc<Approvals>,
    /// What a person said in decisions, for the next prompt.
    notes: Arc<Mutex<Vec<String>>>,
    terminals: Arc<Terminals>,
    open: OpenRequests<'a, Served>,
}

impl<'a> Requests<'a> {
    pub(super) fn new(turn: &'a Turn<'a>) -> Self {
        Self {
            turn,
            approvals: Arc::default(),
            notes: Arc::default(),
            terminals: Arc::default(),
            open: OpenRequests::new(&turn.signals().cancel),
        }
    }

    /// Begins to serve a request. Returns `false` for an unknown method.
    pub(super) fn begin(&mut self, id: &Value, method: &str, params: Value) -> bool {
        let (turn, id, cancel) = (self.turn, id.clone(), self.open.cancel());
        let approvals = Arc::clone(&self.approvals);
        let notes = Arc::clone(&self.notes);
        let served: BoxFuture<'a, Result<Value, String>> = match method {
            "session/request_permission" => Box::pin(async move {
                let decided = permission::decide(turn, &params, &approvals, &cancel).await;
                notes.lock().extend(decided.note);
                Ok(decided.result)
            }),
            "fs/read_text_file" => {
                Box::pin(async move { files::read(turn, &params, &cancel).await })
            }
            "fs/write_text_file" => {
                Box::pin(async move { files::write(turn, &params, &approvals, cancel).await })
            }
            "terminal/create" => {
                let (terminal, command) = self.terminals.create(turn, &params, cancel);
                self.open.push(Box::pin(async move {
                    command.await;
                    None
                }));
                Box::pin(async move { Ok(json!({"terminalId": terminal})) })
            }
            _ => match self.terminals.serve(method, &params) {
                Some(served) => served,
                None => return false,
            },
        };
        self.open
            .push(Box::pin(async move { Some((id, served.await)) }));
        true
    }

    /// Begins to run a call of a tool of the member's MCP servers.
    pub(super) fn run(&mut self, call: RelayedCall) {
        let (turn, cancel) = (self.turn, self.open.cancel());
        let approvals = Arc::clone(&self.approvals);
        self.open.push(Box::pin(async move {
            call.run(turn, &approvals, cancel).await;
            None
        }));
    }

    /// Waits for the next result.
    pub(super) async fn next(&mut self) -> Served {
        self.open.next().await
    }

    /// Withdraws the questions that are still open, and returns what a person said in decisions.
    pub(super) async fn end(mut self) -> Vec<String> {
        self.open
            .withdraw(self.turn.parts().limits.cancel_grace)
            .await;
        std::mem::take(&mut self.notes.lock())
    }
}
