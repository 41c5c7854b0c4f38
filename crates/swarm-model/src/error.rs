//! Errors of model requests. The messages say what to do.

use std::time::Duration;

use swarm_protocol::ErrorKind;

use crate::name::Provider;

/// Reason why a request failed. Messages never contain a key.
///
/// Variants with `attempts` are transient: they are reported after that many attempts.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ModelError {
    /// Required credentials for this provider are missing.
    #[error("{} is not set: the provider {} requires a key{}", .0.key_variables(), .0.name(), .0.without_key())]
    NoKey(Provider),
    /// The credentials are invalid or do not permit this model (401, 403).
    #[error(
        "the model server rejected the credentials: {message}. Check {}",
        provider.key_variables()
    )]
    Auth {
        /// The provider that the credentials are for.
        provider: Provider,
        /// Message of the server.
        message: String,
    },
    /// The account has no credit (402, or an exhausted balance).
    #[error("the model server requires payment: {0}. Check the account's balance and plan")]
    Billing(String),
    /// The model does not exist on the server (404).
    #[error(
        "model {model} not found on the model server: {message}. Choose another with --model, or correct model.aliases in swarm.toml"
    )]
    UnknownModel {
        /// The requested model.
        model: String,
        /// Message of the server.
        message: String,
    },
    /// The server rejected the request as invalid (400 and other 4xx).
    #[error(
        "the model server rejected the request: {0}. A retry would fail again; change the prompt, the tools or the settings"
    )]
    InvalidRequest(String),
    /// The conversation exceeds the model's context window or the server's size limit (413).
    #[error(
        "the conversation is too long for the model: {0}. Start a new agent or give it less to read"
    )]
    ContextTooLong(String),
    /// Too many requests or tokens per minute (429) in every attempt.
    #[error(
        "rate limited by the model server in {}: {message}. Wait, or run fewer agents at the same time",
        times(*attempts)
    )]
    RateLimited {
        /// Message of the server.
        message: String,
        /// The wait that the server last requested, if any.
        retry_after: Option<Duration>,
        /// Number of attempts.
        attempts: u32,
    },
    /// The server was overloaded (529) in every attempt.
    #[error(
        "the model server was overloaded in {}: {message}. Try again later or use another model",
        times(*attempts)
    )]
    Overloaded {
        /// Message of the server.
        message: String,
        /// Number of attempts.
        attempts: u32,
    },
    /// The server failed (5xx) in every attempt.
    #[error(
        "the model server failed in {}: {message}. Try again later; if it persists, check the server's log or the provider's status page",
        times(*attempts)
    )]
    Server {
        /// Message of the server, with the status.
        message: String,
        /// Number of attempts.
        attempts: u32,
    },
    /// The server could not be reached, or the connection broke.
    #[error(
        "cannot connect to the model server at {server} in {}: {message}. Check that it is running, and check the network, the proxy and {}",
        times(*attempts),
        provider.address_variable()
    )]
    Network {
        /// The provider of the server.
        provider: Provider,
        /// Scheme, host and port.
        server: String,
        /// Error of the operating system or the HTTP client.
        message: String,
        /// Number of attempts.
        attempts: u32,
    },
    /// The server stopped sending before the answer was complete.
    #[error(
        "the model server at {server} sent nothing for {} s in {}. Check the network, or try again later",
        idle.as_secs_f32(),
        times(*attempts)
    )]
    IdleTimeout {
        /// Scheme, host and port.
        server: String,
        /// The idle timeout that expired.
        idle: Duration,
        /// Number of attempts.
        attempts: u32,
    },
    /// The response is not a complete answer.
    #[error("the model server's response was invalid in {}: {message}", times(*attempts))]
    BadStream {
        /// What is invalid, and what to check.
        message: String,
        /// Number of attempts.
        attempts: u32,
    },
    /// The client's settings are invalid; the message says which one and how to correct it.
    #[error("the model client cannot be set up: {0}")]
    Setup(String),
    /// The scenario has no answer for this request, or its file is unusable; the message says what is
    /// missing, where, and what to add.
    #[error("{0}")]
    Scenario(String),
    /// The caller cancelled the request.
    #[error("the model request was cancelled")]
    Cancelled,
}

/// Formats a number of attempts.
fn times(attempts: u32) -> String {
    match attempts {
        1 => "1 attempt".to_owned(),
        more => format!("{more} attempts"),
    }
}

impl ModelError {
    /// Whether the same request may succeed later.
    pub fn is_transient(&self) -> bool {
        matches!(
            self,
            Self::RateLimited { .. }
                | Self::Overloaded { .. }
                | Self::Server { .. }
                | Self::Network { .. }
                | Self::IdleTimeout { .. }
                | Self::BadStream { .. }
        )
    }

    /// Kind of the error in machine-readable output.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::NoKey(_) | Self::Auth { .. } | Self::Billing(_) | Self::Setup(_) => {
                ErrorKind::Environment
            }
            Self::Cancelled => ErrorKind::Interrupted,
            _ => ErrorKind::AgentFailed,
        }
    }
}
