//! The agent's requests during a turn. They are served concurrently: a question may wait for a
//! person while other calls go on.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures::Stream;
use futures::future::BoxFuture;
use futures::stream::FuturesUnordered;
use parking_lot::Mutex;
use serde_json::{Value, json};
use swarm_agent::Turn;

use super::files;
use super::permission;
use super::terminals::Terminals;
use crate::approvals::Approvals;
use crate::handed_server::RelayedCall;

/// The id of a request, and its result or why it failed.
type Served = (Value, Result<Value, String>);

/// The requests in progress.
pub(super) struct Requests<'a> {
    turn: &'a Turn<'a>,
    approvals: Arc<Approvals>,
    /// What a person said in decisions, for the next prompt.
    notes: Arc<Mutex<Vec<String>>>,
    terminals: Arc<Terminals>,
    running: FuturesUnordered<BoxFuture<'a, Option<Served>>>,
}

impl<'a> Requests<'a> {
    pub(super) fn new(turn: &'a Turn<'a>) -> Self {
        let running = FuturesUnordered::new();
        // Keeps the stream from ending while there is no request.
        running.push(Box::pin(std::future::pending()) as BoxFuture<'a, _>);
        Self {
            turn,
            approvals: Arc::default(),
            notes: Arc::default(),
            terminals: Arc::default(),
            running,
        }
    }

    /// Begins to serve a request. Returns `false` for an unknown method.
    pub(super) fn begin(&mut self, id: &Value, method: &str, params: Value) -> bool {
        let (turn, id) = (self.turn, id.clone());
        let approvals = Arc::clone(&self.approvals);
        let notes = Arc::clone(&self.notes);
        let served: BoxFuture<'a, Result<Value, String>> = match method {
            "session/request_permission" => Box::pin(async move {
                let decided = permission::decide(turn, &params, &approvals).await;
                notes.lock().extend(decided.note);
                Ok(decided.result)
            }),
            "fs/read_text_file" => Box::pin(async move { files::read(turn, &params).await }),
            "fs/write_text_file" => {
                Box::pin(async move { files::write(turn, &params, &approvals).await })
            }
            "terminal/create" => {
                let (terminal, command) = self.terminals.create(turn, &params);
                self.running.push(Box::pin(async move {
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
        self.running
            .push(Box::pin(async move { Some((id, served.await)) }));
        true
    }

    /// Begins to run a call of a tool of the member's MCP servers.
    pub(super) fn run(&mut self, call: RelayedCall) {
        let (turn, approvals) = (self.turn, Arc::clone(&self.approvals));
        self.running.push(Box::pin(async move {
            call.run(turn, &approvals).await;
            None
        }));
    }

    /// Returns what a person said in decisions.
    pub(super) fn into_notes(self) -> Vec<String> {
        std::mem::take(&mut self.notes.lock())
    }
}

impl Stream for Requests<'_> {
    type Item = Served;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Served>> {
        loop {
            match Pin::new(&mut self.running).poll_next(cx) {
                Poll::Ready(Some(None)) => {}
                Poll::Ready(Some(served)) => return Poll::Ready(served),
                Poll::Ready(None) | Poll::Pending => return Poll::Pending,
            }
        }
    }
}
