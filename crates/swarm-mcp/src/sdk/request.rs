//! An agent's request to a server, including the server's questions before it answers.

use rmcp::RoleClient;
use rmcp::model::{ClientRequest, InputRequest, InputRequiredResult, InputResponses, ServerResult};
use rmcp::service::{PeerRequestOptions, RequestHandle};
use serde_json::json;
use tokio::time::{Instant, sleep_until};

use super::calls::{ActiveCall, CallOptions, RegisteredCall};
use super::connection::{Connection, Round, call_error};
use super::elicit::elicit;
use crate::{McpError, Result};

/// Maximum number of times that a server may request input for one request, as in other clients.
const MAX_ROUNDS: usize = 10;

impl Connection {
    /// Sends a request and waits for its result. A server of the stateless protocol may first
    /// require input: a person is asked for it and the request is repeated with it. Cancellation
    /// also cancels the request on the server.
    pub(super) async fn request(
        &self,
        build_request: impl Fn(Round) -> ClientRequest,
        options: &CallOptions,
    ) -> Result<ServerResult> {
        let registered = self.calls.register(options);
        let mut round = Round::default();
        for _ in 0..MAX_ROUNDS {
            match self.send(build_request(round), &registered).await? {
                ServerResult::InputRequiredResult(needed) => {
                    round = answered(needed, &registered.call).await?;
                }
                result => return Ok(result),
            }
        }
        Err(McpError::Refused(format!(
            "the server asked for input {MAX_ROUNDS} times without answering"
        )))
    }

    async fn send(
        &self,
        request: ClientRequest,
        registered: &RegisteredCall,
    ) -> Result<ServerResult> {
        let options = &registered.call.options;
        registered.set_progress_token(None);
        let sent = self
            .peer
            .send_cancellable_request(request, PeerRequestOptions::no_options());
        let mut call = sent.await.map_err(call_error)?;
        registered.set_progress_token(Some(call.progress_token.clone()));
        let mut questions = registered.questions();
        let mut deadline = Instant::now() + options.within;
        let given_up = loop {
            let is_asking = *questions.borrow_and_update() > 0;
            tokio::select! {
                biased;
                answer = &mut call.rx => {
                    return match answer {
                        Ok(Ok(result)) => Ok(result),
                        Ok(Err(error)) => Err(call_error(error)),
                        Err(_) => Err(McpError::Broken),
                    };
                }
                () = options.cancel.cancelled() => break McpError::Cancelled,
                // The sender lives as long as the call.
                _ = questions.changed() => deadline = Instant::now() + options.within,
                () = sleep_until(deadline), if !is_asking => break McpError::TimedOut(options.within),
            }
        };
        let reason = match given_up {
            McpError::TimedOut(_) => RequestHandle::<RoleClient>::REQUEST_TIMEOUT_REASON,
            _ => "interrupted",
        };
        if let Err(error) = call.cancel(Some(reason.to_owned())).await {
            tracing::debug!(%error, "cannot cancel an MCP call");
        }
        Err(given_up)
    }
}

/// Asks a person for the input that a server requires.
async fn answered(needed: InputRequiredResult, call: &ActiveCall) -> Result<Round> {
    let mut responses = InputResponses::new();
    for (key, request) in needed.input_requests.unwrap_or_default() {
        let InputRequest::Elicitation(request) = request else {
            return Err(McpError::Refused(
                "the server requests something other than input from a person, which is not supported"
                    .to_owned(),
            ));
        };
        let result = elicit(call, request.params).await;
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
