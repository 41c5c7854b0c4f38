//! Generic client of a remote API: attempts, failures, and the waits between them.

use std::sync::Arc;
use std::time::Duration;

use futures::TryStreamExt;
use reqwest::Response;
use reqwest::header::CONTENT_TYPE;
use swarm_protocol::Usage;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use super::body::Body;
use super::connection::staggered;
use super::dialect::{Assembly as _, Dialect, Step};
use super::endpoint::{Endpoint, describe};
use super::failure::{Cause, Failure, Transient};
use super::refusal::Refusal;
use super::retry::retry_after;
use super::stream::{Broken, MAX_ANSWER_BYTES, read_answer};
use crate::drive::{Emitter, drive};
use crate::error::ModelError;
use crate::model::{Model, ModelEvent, ModelEvents, ModelResponse};
use crate::request::ModelRequest;

/// A client of one API with its connection pool.
#[derive(Debug)]
pub(crate) struct Remote<D> {
    inner: Arc<Inner<D>>,
}

#[derive(Debug)]
struct Inner<D> {
    dialect: D,
    endpoint: Endpoint,
}

/// Maximum number of bytes read of an error response; error pages can be long.
const MAX_REFUSAL_BYTES: usize = 64 * 1024;

/// Maximum number of attempts to connect to a local server. A local server starts within a few
/// seconds; if it is not reachable by then, it is not running, and the user needs to know.
const LOCAL_CONNECT_ATTEMPTS: u32 = 4;

struct Failed {
    failure: Failure,
    /// Usage of the attempt, as far as the server reported it.
    usage: Usage,
    /// The client has adapted to the refusal: the next body omits the refused part.
    has_adapted: bool,
}

impl From<Failure> for Failed {
    fn from(failure: Failure) -> Self {
        Self {
            failure,
            usage: Usage::default(),
            has_adapted: false,
        }
    }
}

impl<D: Dialect> Remote<D> {
    /// Validates the settings and creates a client without connecting. With an `https` address the
    /// system's certificates are loaded, for which the TLS library reads `SSL_CERT_FILE` and
    /// `SSL_CERT_DIR`.
    ///
    /// Fails with [`ModelError::NoKey`] or [`ModelError::Auth`] without a usable credential and
    /// with [`ModelError::Setup`] if another setting is invalid.
    pub(crate) fn new(dialect: impl Into<D>) -> Result<Self, ModelError> {
        let dialect = dialect.into();
        let endpoint = Endpoint::new(dialect.address()?, dialect.connection())?;
        Ok(Self {
            inner: Arc::new(Inner { dialect, endpoint }),
        })
    }
}

impl<D: Dialect> Model for Remote<D> {
    fn stream(&self, request: ModelRequest, cancel: CancellationToken) -> ModelEvents {
        let inner = Arc::clone(&self.inner);
        drive(cancel, move |emit| async move {
            inner.answer(&request, &emit).await
        })
    }

    /// Where the server cannot do it, the client does.
    fn defers_tools(&self) -> bool {
        true
    }

    fn takes_documents(&self) -> bool {
        self.inner.dialect.takes_documents()
    }
}

impl<D: Dialect> Inner<D> {
    async fn answer(
        &self,
        request: &ModelRequest,
        emit: &Emitter,
    ) -> Result<ModelResponse, ModelError> {
        let agent = request.agent.as_str();
        let retry = &self.dialect.connection().retry;
        let mut body = self.dialect.body(request)?;
        let mut usage = Usage::default();
        let mut attempt = 1;
        loop {
            self.wait_for_release(emit).await;
            let failed = match self.attempt(&body, &request.model, usage, emit).await {
                Ok(mut response) => {
                    response.usage += usage;
                    return Ok(response);
                }
                Err(failed) => failed,
            };
            usage += failed.usage;
            emit.count(usage);
            if failed.has_adapted {
                body = self.dialect.body(request)?;
                continue;
            }
            let transient = match self.without_secrets(failed.failure) {
                Failure::Final(error) => return Err(error),
                Failure::Transient(transient) if attempt >= self.attempts(transient.cause) => {
                    let provider = self.dialect.provider();
                    return Err(transient.give_up(provider, &self.endpoint.server, attempt));
                }
                Failure::Transient(transient) => transient,
            };
            let wait = retry.wait(attempt, transient.retry_after);
            self.throttle_others(transient.cause, wait).await;
            attempt += 1;
            tracing::info!(agent, attempt, ?wait, cause = ?transient.cause, "retrying the model request");
            let is_overload = transient.cause == Cause::Overload;
            let reason = match transient.cause {
                Cause::Connection => {
                    let server = &self.endpoint.server;
                    format!("no connection to {server}: {}", transient.message)
                }
                _ => transient.message,
            };
            emit.emit(ModelEvent::Retrying {
                attempt,
                wait,
                reason,
                is_overload,
            });
            sleep(wait).await;
        }
    }

    /// Waits for the throttle that all clients of the server share. Other clients may extend it in
    /// the meantime.
    async fn wait_for_release(&self, emit: &Emitter) {
        let Some(throttle) = &self.dialect.connection().throttle else {
            return;
        };
        loop {
            let mut remaining = throttle.remaining();
            if remaining.is_zero() && throttle.has_rate() {
                let throttle = Arc::clone(throttle);
                let taken = tokio::task::spawn_blocking(move || throttle.take());
                remaining = taken.await.unwrap_or_default();
            }
            if remaining.is_zero() {
                return;
            }
            let wait = staggered(remaining);
            emit.emit(ModelEvent::Waiting { wait });
            sleep(wait).await;
        }
    }

    /// Makes the other clients of the server wait too, if the server is overloaded.
    async fn throttle_others(&self, cause: Cause, wait: Duration) {
        let throttle = self.dialect.connection().throttle.as_ref();
        if let (Some(throttle), Cause::RateLimit | Cause::Overload) = (throttle, cause) {
            let throttle = Arc::clone(throttle);
            let held = tokio::task::spawn_blocking(move || throttle.hold(wait));
            if let Err(error) = held.await {
                tracing::warn!(%error, "failed to share the wait with other clients");
            }
        }
    }

    /// Returns the maximum number of attempts for a cause of failure.
    fn attempts(&self, cause: Cause) -> u32 {
        let all = self.dialect.connection().retry.attempts;
        match cause {
            Cause::Connection if self.endpoint.is_local => all.min(LOCAL_CONNECT_ATTEMPTS),
            _ => all,
        }
    }

    async fn attempt(
        &self,
        body: &Body,
        model: &str,
        before: Usage,
        emit: &Emitter,
    ) -> Result<ModelResponse, Failed> {
        let idle = self.dialect.connection().idle_timeout;
        let response = match timeout(idle, self.endpoint.post(body)).await {
            Ok(Ok(response)) => response,
            Ok(Err(error)) => {
                return Err(Failure::transient(Cause::Connection, describe(error)).into());
            }
            Err(_) => {
                let message = "the server did not respond";
                return Err(Failure::transient(Cause::Silence(idle), message).into());
            }
        };
        if !response.status().is_success() {
            return Err(self.refused(response, model, body).await);
        }
        match content_type(&response) {
            kind if kind.is_empty() || kind.starts_with("text/event-stream") => {}
            kind if kind.starts_with("application/json") => {
                return self.whole(response, model, emit).await;
            }
            kind => return Err(self.not_a_stream(&kind).into()),
        }
        let mut answer = self.dialect.answer(model);
        let chunks = response.bytes_stream().map_err(describe);
        match read_answer(chunks, &mut answer, idle, before, emit).await {
            Ok(response) => Ok(response),
            Err(broken) => Err(Failed {
                usage: answer.usage(),
                ..self.broken(broken, model, body)
            }),
        }
    }

    fn broken(&self, broken: Broken, model: &str, body: &Body) -> Failed {
        match broken {
            Broken::Failed(failure) => failure.into(),
            Broken::Refused(refusal) => self.classify_refusal(refusal, model, body),
        }
    }

    /// Reads an error response. If the body does not arrive in time, only the status is used.
    async fn refused(&self, response: Response, model: &str, asked: &Body) -> Failed {
        let status = response.status().as_u16();
        let wish = retry_after(response.headers());
        let request_id = ["request-id", "x-request-id"]
            .into_iter()
            .find_map(|name| response.headers().get(name)?.to_str().ok())
            .map(str::to_owned);
        let idle = self.dialect.connection().idle_timeout;
        let body = timeout(idle, start_of_body(response, MAX_REFUSAL_BYTES)).await;
        let mut refusal = Refusal::from_body(status, &body.unwrap_or_default());
        if let Some(id) = request_id {
            refusal.request_id = id;
        }
        let failed = self.classify_refusal(refusal, model, asked);
        match failed.failure {
            Failure::Transient(transient) => Failed {
                failure: Failure::Transient(Transient {
                    retry_after: wish,
                    ..transient
                }),
                ..failed
            },
            Failure::Final(_) => failed,
        }
    }

    fn classify_refusal(&self, refusal: Refusal, model: &str, asked: &Body) -> Failed {
        let refusal = refusal.redacted(|text| self.redact(text));
        let message = match refusal.request_id.as_str() {
            "" => refusal.line(),
            id => format!("{} (request {id})", refusal.line()),
        };
        let has_adapted = self.dialect.adapt(&refusal, asked);
        if has_adapted {
            tracing::info!(
                reason = message,
                "retrying the model request with a changed body"
            );
        }
        Failed {
            has_adapted,
            ..self.dialect.failure(&refusal, message, model).into()
        }
    }

    /// Reads an answer that is not streamed, or an error with a success status.
    async fn whole(
        &self,
        response: Response,
        model: &str,
        emit: &Emitter,
    ) -> Result<ModelResponse, Failed> {
        let idle = self.dialect.connection().idle_timeout;
        let body = timeout(idle, start_of_body(response, MAX_ANSWER_BYTES)).await;
        let body = String::from_utf8_lossy(&body.unwrap_or_default()).into_owned();
        let mut answer = self.dialect.answer(model);
        match answer.take(&body) {
            Ok(Step::Complete(response)) => Ok(response),
            Ok(Step::Refused(refusal)) => {
                Err(self.classify_refusal(refusal, model, &Body::default()))
            }
            Ok(Step::Show(events)) => {
                for event in events {
                    emit.emit(event);
                }
                let whole = answer.end();
                whole.ok_or_else(|| self.not_a_stream("JSON without an answer").into())
            }
            Err(_) => Err(self.not_a_stream("application/json").into()),
        }
    }

    /// Returns the failure for a success status with an unusable content type. The response comes
    /// from something other than this API, for example a captive portal, so a retry would not help.
    fn not_a_stream(&self, kind: &str) -> Failure {
        let provider = self.dialect.provider();
        Failure::Final(ModelError::BadStream {
            message: format!(
                "it is {kind}, not an event stream. Check that {} is the address of a {}",
                provider.address_variable(),
                provider.api()
            ),
            attempts: 1,
        })
    }

    fn without_secrets(&self, failure: Failure) -> Failure {
        match failure {
            Failure::Transient(transient) => Failure::Transient(Transient {
                message: self.redact(&transient.message),
                ..transient
            }),
            last @ Failure::Final(_) => last,
        }
    }

    /// Replaces every secret in a text from the server: some gateways quote the key that they
    /// refuse.
    fn redact(&self, text: &str) -> String {
        let proxy = self.dialect.connection().proxy.as_ref();
        let mut clean = text.to_owned();
        for secret in self.dialect.secrets().into_iter().chain(proxy) {
            if !secret.reveal().is_empty() {
                clean = clean.replace(secret.reveal(), "[secret]");
            }
        }
        clean
    }
}

fn content_type(response: &Response) -> String {
    let kind = response.headers().get(CONTENT_TYPE);
    kind.map(|kind| String::from_utf8_lossy(kind.as_bytes()).to_ascii_lowercase())
        .unwrap_or_default()
}

/// Reads the start of a response body, up to about `enough` bytes.
async fn start_of_body(mut response: Response, enough: usize) -> Vec<u8> {
    let mut body = Vec::new();
    while let Ok(Some(chunk)) = response.chunk().await {
        body.extend_from_slice(&chunk);
        if body.len() >= enough {
            break;
        }
    }
    body
}
