//! The order to stop, and its cause.

use std::sync::{Arc, OnceLock};

use tokio_util::sync::CancellationToken;

/// The cause that is reported where none was given.
const UNNAMED: &str = "its process was told to end";

/// Tells a teammate's process to stop. The first cause counts.
#[derive(Debug, Clone, Default)]
pub struct Termination {
    token: CancellationToken,
    cause: Arc<OnceLock<&'static str>>,
}

impl Termination {
    /// Tells the teammate to stop. `cause` is a clause such as `its pane is gone`.
    pub fn tell(&self, cause: &'static str) {
        self.cause.get_or_init(|| cause);
        self.token.cancel();
    }

    /// Cancelled when the teammate is told to stop.
    pub(crate) fn token(&self) -> &CancellationToken {
        &self.token
    }

    /// Why it was told to stop.
    pub(crate) fn cause(&self) -> &'static str {
        self.cause.get().copied().unwrap_or(UNNAMED)
    }
}
