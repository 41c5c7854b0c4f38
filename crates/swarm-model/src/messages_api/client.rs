//! The client: attempts, their failures, and the waits between them.

use std::sync::Arc;

use bytes::Bytes;
use futures::TryStreamExt;
use reqwest::Response;
use reqwest::header::CONTENT_TYPE;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use super::body::request_body;
use super::config::MessagesApiConfig;
use super::failure::{Cause, Failure, Transient};
use super::http::{Endpoint, describe};
use super::retry::retry_after;
use super::status::{ServerError, classify, status_of};
use super::stream::{Broken, read_answer};
use crate::drive::{Emitter, drive};
use crate::error::ModelError;
use crate::model::{Model, ModelEvent, ModelEvents, ModelResponse};
use crate::request::ModelRequest;

/// A client of the Messages API. Clones share one pool of connections; a process needs one client.
#[derive(Debug, Clone)]
pub struct MessagesApi {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    config: MessagesApiConfig,
    endpoint: Endpoint,
}

impl MessagesApi {
    /// Checks the settings and prepares a client. Connects to nothing. With an `https` address the system's
    /// certificates are loaded, for which the TLS library reads `SSL_CERT_FILE` and `SSL_CERT_DIR`.
    ///
    /// Fails with [`ModelError::Auth`] without a usable credential and with [`ModelError::Setup`] if
    /// another setting cannot work.
    pub fn new(config: MessagesApiConfig) -> Result<Self, ModelError> {
        let endpoint = Endpoint::new(&config)?;
        Ok(Self {
            inner: Arc::new(Inner { config, endpoint }),
        })
    }
}

impl Model for MessagesApi {
    fn stream(&self, request: ModelRequest, cancel: CancellationToken) -> ModelEvents {
        let inner = Arc::clone(&self.inner);
        drive(cancel, move |emit| async move {
            inner.answer(&request, &emit).await
        })
    }
}

impl Inner {
    async fn answer(
        &self,
        request: &ModelRequest,
        emit: &Emitter,
    ) -> Result<ModelResponse, ModelError> {
        let body = request_body(request)?;
        let agent = request.agent.as_str();
        let retry = &self.config.retry;
        let mut attempt = 1;
        loop {
            let failure = match self.attempt(body.clone(), &request.model, emit).await {
                Ok(response) => return Ok(response),
                Err(failure) => self.without_secrets(failure),
            };
            let transient = match failure {
                Failure::Final(error) => return Err(error),
                Failure::Transient(transient) if attempt >= retry.attempts => {
                    return Err(transient.give_up(&self.endpoint.server, attempt));
                }
                Failure::Transient(transient) => transient,
            };
            let wait = retry.wait(attempt, transient.retry_after);
            attempt += 1;
            tracing::info!(agent, attempt, ?wait, cause = ?transient.cause, "asking the model again");
            emit.emit(ModelEvent::Retrying {
                attempt,
                wait,
                reason: transient.message,
            });
            sleep(wait).await;
        }
    }

    async fn attempt(
        &self,
        body: Bytes,
        model: &str,
        emit: &Emitter,
    ) -> Result<ModelResponse, Failure> {
        let idle = self.config.idle_timeout;
        let response = match timeout(idle, self.endpoint.post(body)).await {
            Ok(Ok(response)) => response,
            Ok(Err(error)) => return Err(Failure::transient(Cause::Connection, describe(error))),
            Err(_) => {
                let message = "the server did not begin to answer";
                return Err(Failure::transient(Cause::Silence(idle), message));
            }
        };
        if !response.status().is_success() {
            return Err(self.refusal(response, model).await);
        }
        expect_events(&response)?;
        let chunks = response.bytes_stream().map_err(describe);
        match read_answer(chunks, model, idle, emit).await {
            Ok(response) => Ok(response),
            Err(Broken::Failed(failure)) => Err(failure),
            Err(Broken::Refused(error)) => {
                let error = error.cleaned(|text| self.config.redact(text));
                Err(classify(
                    status_of(&error.kind),
                    &error,
                    error.line(),
                    model,
                ))
            }
        }
    }

    /// Reads why the server refused. A body that does not come or end leaves the status to speak.
    async fn refusal(&self, response: Response, model: &str) -> Failure {
        let status = response.status().as_u16();
        let wish = retry_after(response.headers());
        let request_id = response
            .headers()
            .get("request-id")
            .and_then(|id| id.to_str().ok())
            .map(|id| format!(" (request {id})"))
            .unwrap_or_default();
        let body = timeout(self.config.idle_timeout, refusal_body(response)).await;
        let error = ServerError::from_body(&body.unwrap_or_default())
            .cleaned(|text| self.config.redact(text));
        let message = format!("{}{request_id}", error.line());
        match classify(status, &error, message, model) {
            Failure::Transient(transient) => Failure::Transient(Transient {
                retry_after: wish,
                ..transient
            }),
            last @ Failure::Final(_) => last,
        }
    }

    fn without_secrets(&self, failure: Failure) -> Failure {
        match failure {
            Failure::Transient(transient) => Failure::Transient(Transient {
                message: self.config.redact(&transient.message),
                ..transient
            }),
            last @ Failure::Final(_) => last,
        }
    }
}

/// The start of an error response's body; error pages can be long.
async fn refusal_body(mut response: Response) -> Vec<u8> {
    const ENOUGH: usize = 64 * 1024;
    let mut body = Vec::new();
    while let Ok(Some(chunk)) = response.chunk().await {
        body.extend_from_slice(&chunk);
        if body.len() >= ENOUGH {
            break;
        }
    }
    body
}

/// A success that is not an event stream comes from something else than a Messages API, for example the
/// page of a log-in portal; asking again would not change it.
fn expect_events(response: &Response) -> Result<(), Failure> {
    let Some(kind) = response.headers().get(CONTENT_TYPE) else {
        return Ok(());
    };
    let kind = String::from_utf8_lossy(kind.as_bytes());
    if kind.starts_with("text/event-stream") {
        return Ok(());
    }
    Err(Failure::Final(ModelError::BadStream {
        message: format!("it is {kind} and not an event stream"),
        attempts: 1,
    }))
}
