//! Classification of failed attempts: final or transient.

use std::time::Duration;

use crate::error::ModelError;
use crate::name::Provider;

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Failure {
    /// The same request would fail again.
    Final(ModelError),
    /// Another attempt may succeed.
    Transient(Transient),
}

/// A failure that is retried.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Transient {
    pub(crate) cause: Cause,
    /// Message for display, without secrets.
    pub(crate) message: String,
    /// The wait that the server requested.
    pub(crate) retry_after: Option<Duration>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Cause {
    RateLimit,
    Overload,
    Server,
    Connection,
    Silence(Duration),
    Garbage,
}

impl Failure {
    pub(crate) fn transient(cause: Cause, message: impl Into<String>) -> Self {
        Self::Transient(Transient {
            cause,
            message: message.into(),
            retry_after: None,
        })
    }

    /// Creates the failure for a response that is not a complete event stream.
    pub(crate) fn garbage(message: impl Into<String>) -> Self {
        Self::transient(Cause::Garbage, message)
    }
}

impl From<ModelError> for Failure {
    fn from(error: ModelError) -> Self {
        Self::Final(error)
    }
}

impl Transient {
    /// Converts to the error that is reported after the last attempt.
    pub(crate) fn give_up(self, provider: Provider, server: &str, attempts: u32) -> ModelError {
        let Self {
            cause,
            message,
            retry_after,
        } = self;
        let server = server.to_owned();
        match cause {
            Cause::RateLimit => ModelError::RateLimited {
                message,
                retry_after,
                attempts,
            },
            Cause::Overload => ModelError::Overloaded { message, attempts },
            Cause::Server => ModelError::Server { message, attempts },
            Cause::Connection => ModelError::Network {
                provider,
                server,
                message,
                attempts,
            },
            Cause::Silence(idle) => ModelError::IdleTimeout {
                server,
                idle,
                attempts,
            },
            Cause::Garbage => ModelError::BadStream {
                message: format!(
                    "{message}. Check that {} is the address of a {}",
                    provider.address_variable(),
                    provider.api()
                ),
                attempts,
            },
        }
    }
}
