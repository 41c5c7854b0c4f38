//! One request of an agent to a server, with everything that the server asks before it answers.

use rmcp::RoleClient;
use rmcp::model::{ClientRequest, InputRequest, InputRequiredResult, InputResponses, ServerResult};
use rmcp::service::{PeerRequestOptions, RequestHandle};
use serde_json::json;
use tokio::time::{Instant, sleep_until};

use super::calls::{ActiveCall, CallTerms, Entered};
use super::connection::{Connection, failed};
use super::elicit::elicited;
use crate::McpError;

/// How often a server may ask for input before it answers one request, as in other clients.
const MOST_ROUNDS: usize = 10;

/// What a request is repeated with once a person has answered (protocol of 2026-07-28).
#[derive(Debug, Default, Clone)]
pub(super) struct Round {
    pub(super) responses: Option<InputResponses>,
    pub(super) state: Option<String>,
}

impl Connection {
    /// Sends a request and waits for its result. A server of the stateless protocol may want input first: a person is asked
    /// for it, and the request is made again with it. Given up, the request is cancelled at the server too.
    pub(super) async fn request(
        &self,
        make: impl Fn(Round) -> ClientRequest,
        terms: &CallTerms,
    ) -> Result<ServerResult, McpError> {
        let entered = self.calls.enter(terms);
        let mut round = Round::default();
        for _ in 0..MOST_ROUNDS {
            match self.send(make(round), &entered).await? {
                ServerResult::InputRequiredResult(needed) => {
                    round = answered(needed, &entered.call).await?;
                }
                result => return Ok(result),
            }
        }
        Err(McpError::Refused(format!(
            "it asked for input {MOST_ROUNDS} times and did not answer"
        )))
    }

    async fn send(
        &self,
        request: ClientRequest,
        entered: &Entered,
    ) -> Result<ServerResult, McpError> {
        let terms = &entered.call.terms;
        entered.has_token(None);
        let sent = self
            .peer
            .send_cancellable_request(request, PeerRequestOptions::no_options());
        let mut call = sent.await.map_err(failed)?;
        entered.has_token(Some(call.progress_token.clone()));
        let mut questions = entered.questions();
        let mut deadline = Instant::now() + terms.within;
        let given_up = loop {
            let is_asking = *questions.borrow_and_update() > 0;
            tokio::select! {
                biased;
                answer = &mut call.rx => {
                    return match answer {
                        Ok(Ok(result)) => Ok(result),
                        Ok(Err(error)) => Err(failed(error)),
                        Err(_) => Err(McpError::Broken),
                    };
                }
                () = terms.cancel.cancelled() => break McpError::Cancelled,
                // The sender lives as long as the call.
                _ = questions.changed() => deadline = Instant::now() + terms.within,
                () = sleep_until(deadline), if !is_asking => break McpError::TimedOut(terms.within),
            }
        };
        let reason = match given_up {
            McpError::TimedOut(_) => RequestHandle::<RoleClient>::REQUEST_TIMEOUT_REASON,
            _ => "interrupted",
        };
        if let Err(error) = call.cancel(Some(reason.to_owned())).await {
            tracing::debug!(%error, "an MCP call could not be cancelled");
        }
        Err(given_up)
    }
}

/// What a person answers to all that a server needs.
async fn answered(needed: InputRequiredResult, call: &ActiveCall) -> Result<Round, McpError> {
    let mut responses = InputResponses::new();
    for (key, request) in needed.input_requests.unwrap_or_default() {
        let InputRequest::Elicitation(request) = request else {
            return Err(McpError::Refused(
                "it asks for something else than input from a person, which swarm does not pass on"
                    .to_owned(),
            ));
        };
        let result = elicited(call, request.params).await;
        let result = result.map_err(McpError::Refused)?;
        if call.over.is_cancelled() {
            return Err(McpError::Cancelled);
        }
        responses.insert(key, json!(result));
    }
    Ok(Round {
        responses: Some(responses).filter(|responses| !responses.is_empty()),
        state: needed.request_state,
    })
}
