//! What can go wrong with a model, in words for the person who has to act on it.

use std::time::Duration;

use swarm_protocol::ErrorKind;

/// Why a request got no answer. Messages never contain a key.
///
/// The variants with `attempts` are the transient ones: they were retried that many times before they
/// are reported.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ModelError {
    /// The credentials are missing, wrong, or not good for this model (401, 403).
    #[error(
        "the model server does not accept the credentials: {message}. Check ANTHROPIC_API_KEY or ANTHROPIC_AUTH_TOKEN"
    )]
    Auth {
        /// The server's words.
        message: String,
    },
    /// The account cannot pay (402, or a spent balance).
    #[error(
        "the model server wants payment first: {message}. Check the account's balance and plan"
    )]
    Billing {
        /// The server's words.
        message: String,
    },
    /// The server has no such model (404).
    #[error(
        "the model server knows no model {model}: {message}. Choose another with --model or an alias in models.toml"
    )]
    UnknownModel {
        /// The model asked for.
        model: String,
        /// The server's words.
        message: String,
    },
    /// The server refuses the request as it is (400 and other 4xx).
    #[error(
        "the model server refuses the request: {message}. It will refuse it again; change the prompt, the tools or the settings"
    )]
    InvalidRequest {
        /// The server's words.
        message: String,
    },
    /// The conversation does not fit the model's context window or the server's size limit (413).
    #[error(
        "the conversation has grown too long for the model: {message}. Start the agent afresh or give it less to read"
    )]
    ContextTooLong {
        /// The server's words.
        message: String,
    },
    /// Too many requests or tokens per minute (429), to the last attempt.
    #[error(
        "the model server's rate limit held through {attempts} attempts: {message}. Wait a while, or run fewer agents at once"
    )]
    RateLimited {
        /// The server's words.
        message: String,
        /// How long the server last asked to wait, if it said so.
        retry_after: Option<Duration>,
        /// Attempts made.
        attempts: u32,
    },
    /// The server has too much to do (529), to the last attempt.
    #[error(
        "the model server stayed overloaded through {attempts} attempts: {message}. Try again later or use another model"
    )]
    Overloaded {
        /// The server's words.
        message: String,
        /// Attempts made.
        attempts: u32,
    },
    /// The server failed (5xx), to the last attempt.
    #[error(
        "the model server failed in {attempts} attempts: {message}. Try again later; if it lasts, look at the provider's status page"
    )]
    Server {
        /// The server's words, with the status.
        message: String,
        /// Attempts made.
        attempts: u32,
    },
    /// The server could not be reached, or the connection broke.
    #[error(
        "no connection to the model server at {server} in {attempts} attempts: {message}. Check the network, the proxy and ANTHROPIC_BASE_URL"
    )]
    Network {
        /// Scheme, host and port.
        server: String,
        /// What the system said.
        message: String,
        /// Attempts made.
        attempts: u32,
    },
    /// The server fell silent in the middle.
    #[error(
        "the model server at {server} sent nothing for {} s in each of {attempts} attempts. Check the network, or try again later",
        idle.as_secs_f32()
    )]
    IdleTimeout {
        /// Scheme, host and port.
        server: String,
        /// The silence allowed.
        idle: Duration,
        /// Attempts made.
        attempts: u32,
    },
    /// What came is not a whole answer of the Messages API.
    #[error(
        "the model server's answer was unusable in {attempts} attempts: {message}. Check that ANTHROPIC_BASE_URL names a Messages API"
    )]
    BadStream {
        /// What is wrong with it.
        message: String,
        /// Attempts made.
        attempts: u32,
    },
    /// The client's own settings cannot work.
    #[error("the model client cannot be set up: {message}")]
    Setup {
        /// What to change.
        message: String,
    },
    /// The scenario has no answer for this request, or its file cannot be used.
    #[error("{message}")]
    Scenario {
        /// What is missing, where, and what to add.
        message: String,
    },
    /// The caller cancelled.
    #[error("the request to the model was cancelled; ask again when ready")]
    Cancelled,
}

impl ModelError {
    /// Whether waiting could help: the same request may succeed later, unchanged.
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

    /// The kind that scripts see.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Auth { .. } | Self::Billing { .. } | Self::Setup { .. } => ErrorKind::Environment,
            Self::Cancelled => ErrorKind::Interrupted,
            _ => ErrorKind::AgentFailed,
        }
    }
}
