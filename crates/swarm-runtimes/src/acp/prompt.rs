//! One prompt: from the messages of a turn to the agent's stop reason.

use serde_json::{Value, json};
use swarm_agent::{Turn, TurnStop};
use swarm_protocol::Usage;
use tokio::time::{Instant, sleep_until};

use super::connection::{Connection, Message};
use super::requests::Requests;
use super::updates;
use crate::cut_turn::{CutTurn, text_blocks};
use crate::reply::Reply;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PromptEnd {
    /// The agent ended its turn.
    Done,
    /// The turn was cancelled.
    Cancelled,
    /// The agent refused to continue; its last text says why.
    Refused,
}

/// What an agent answered.
#[derive(Debug)]
pub(super) struct Answered {
    pub(super) end: PromptEnd,
    /// Its texts, at least one.
    pub(super) texts: Vec<String>,
    pub(super) usage: Usage,
    /// What a person said in decisions of this turn, for the next prompt: the protocol's response
    /// to a permission request has no text.
    pub(super) notes: Vec<String>,
}

struct Prompt<'a> {
    turn: &'a Turn<'a>,
    session: &'a str,
    reply: Reply,
    requests: Requests<'a>,
}

/// Sends the messages of a turn and serves the agent until it ends the turn. A cancelled turn gets
/// the agent's response within [`swarm_agent::SessionLimits::cancel_grace`], or an error.
pub(super) async fn run_prompt(
    connection: &mut Connection,
    turn: &Turn<'_>,
    session: &str,
    texts: &[String],
    state: &mut CutTurn,
) -> Result<Answered, TurnStop> {
    let params = json!({"sessionId": session, "prompt": text_blocks(texts)});
    let sent = connection.request("session/prompt", &params).await?;
    state.received()?;
    let mut prompt = Prompt {
        turn,
        session,
        reply: Reply::default(),
        requests: Requests::new(turn),
    };
    let outcome = prompt.serve(connection, sent).await;
    let Prompt {
        reply, requests, ..
    } = prompt;
    let notes = requests.end().await;
    let (mut texts, usage) = reply.finish(turn);
    let result = match outcome? {
        Ok(result) => result,
        Err(error) => return Err(connection.refusal("session/prompt", &error).into()),
    };
    let end = match result["stopReason"].as_str() {
        Some("cancelled") => PromptEnd::Cancelled,
        Some("refusal") => PromptEnd::Refused,
        Some(limit @ ("max_tokens" | "max_turn_requests")) => {
            texts.push(format!(
                "[The turn ended at a limit of the agent program: {limit}.]"
            ));
            PromptEnd::Done
        }
        _ => PromptEnd::Done,
    };
    let usage = updates::usage(&result["usage"]).unwrap_or(usage);
    Ok(Answered {
        end,
        texts,
        usage,
        notes,
    })
}

impl Prompt<'_> {
    /// Serves the agent until the response to our request with the id `sent`.
    async fn serve(
        &mut self,
        connection: &mut Connection,
        sent: u64,
    ) -> Result<Result<Value, Value>, TurnStop> {
        let signals = self.turn.signals().clone();
        let mut give_up: Option<Instant> = None;
        loop {
            tokio::select! {
                message = connection.receive() => match message? {
                    Message::Response { id, outcome } if id == sent => return Ok(outcome),
                    Message::Notification { method, params } if method == "session/update" => {
                        updates::apply(&params["update"], self.turn, &mut self.reply);
                    }
                    Message::Response { .. } | Message::Notification { .. } => {}
                    Message::Call(call) => self.requests.run(call),
                    Message::Request { id, method, params } => {
                        if !self.requests.begin(&id, &method, params) {
                            connection.refuse(&id, &method).await?;
                        }
                    }
                },
                (id, outcome) = self.requests.next() => {
                    connection.respond(&id, outcome).await?;
                }
                () = signals.over(), if give_up.is_none() => {
                    give_up = Some(Instant::now() + self.turn.parts().limits.cancel_grace);
                    let params = json!({"sessionId": self.session});
                    connection.notify("session/cancel", &params).await?;
                }
                () = sleep_until(give_up.unwrap_or_else(Instant::now)), if give_up.is_some() => {
                    return Err(TurnStop::Interrupted);
                }
            }
        }
    }
}
