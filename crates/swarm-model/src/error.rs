//! What can go wrong with a model, in words for the person who has to act on it.

use std::time::Duration;

use swarm_protocol::ErrorKind;

use crate::name::Provider;

/// Why a request got no answer. Messages never contain a key.
///
/// The variants with `attempts` are the transient ones: they were retried that many times before they
/// are reported.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ModelError {
    /// No credentials are set where they are needed for sure.
    #[error("{} is not set, and the provider {} needs a key{}", provider.key_variables(), provider.as_str(), provider.without_key())]
    NoKey {
        /// Whose credentials.
        provider: Provider,
    },
    /// The credentials are wrong, or not good for this model (401, 403).
    #[error(
        "the model server does not accept the credentials: {message}. Check {}",
        provider.key_variables()
    )]
    Auth {
        /// Whose credentials.
        provider: Provider,
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
        "the model server knows no model {model}: {message}. Choose another with --model, or correct model.aliases in swarm.toml"
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
        "the model server's rate limit held through {}: {message}. Wait a while, or run fewer agents at once",
        times(*attempts)
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
        "the model server stayed overloaded through {}: {message}. Try again later or use another model",
        times(*attempts)
    )]
    Overloaded {
        /// The server's words.
        message: String,
        /// Attempts made.
        attempts: u32,
    },
    /// The server failed (5xx), to the last attempt.
    #[error(
        "the model server failed in {}: {message}. Try again later; if it lasts, look at the server's log or the provider's status page",
        times(*attempts)
    )]
    Server {
        /// The server's words, with the status.
        message: String,
        /// Attempts made.
        attempts: u32,
    },
    /// The server could not be reached, or the connection broke.
    #[error(
        "no connection to the model server at {server} in {}: {message}. Check that it runs, and check the network, the proxy and {}",
        times(*attempts),
        provider.address_variable()
    )]
    Network {
        /// Whose server.
        provider: Provider,
        /// Scheme, host and port.
        server: String,
        /// What the system said.
        message: String,
        /// Attempts made.
        attempts: u32,
    },
    /// The server fell silent in the middle.
    #[error(
        "the model server at {server} sent nothing for {} s in {}. Check the network, or try again later",
        idle.as_secs_f32(),
        times(*attempts)
    )]
    IdleTimeout {
        /// Scheme, host and port.
        server: String,
        /// The silence allowed.
        idle: Duration,
        /// Attempts made.
        attempts: u32,
    },
    /// What came is not a whole answer.
    #[error("the model server's answer was unusable in {}: {message}", times(*attempts))]
    BadStream {
        /// What is wrong with it, and what to check.
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

/// A number of attempts, in words.
fn times(attempts: u32) -> String {
    match attempts {
        1 => "1 attempt".to_owned(),
        more => format!("{more} attempts"),
    }
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
            Self::NoKey { .. } | Self::Auth { .. } | Self::Billing { .. } | Self::Setup { .. } => {
                ErrorKind::Environment
            }
            Self::Cancelled => ErrorKind::Interrupted,
            _ => ErrorKind::AgentFailed,
        }
    }
}
