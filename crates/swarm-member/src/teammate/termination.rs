//! Being told to end, and by what.

use std::sync::{Arc, OnceLock};

use tokio_util::sync::CancellationToken;

/// What is told of an end whose cause nobody named.
const UNNAMED: &str = "its process was told to end";

/// Falls when a teammate's process is told to end; the first cause counts.
#[derive(Debug, Clone, Default)]
pub struct Termination {
    token: CancellationToken,
    cause: Arc<OnceLock<&'static str>>,
}

impl Termination {
    /// Tells the teammate to end. `cause` is half a sentence, such as `its pane is gone`.
    pub fn tell(&self, cause: &'static str) {
        self.cause.get_or_init(|| cause);
        self.token.cancel();
    }

    /// What falls.
    pub(crate) fn token(&self) -> &CancellationToken {
        &self.token
    }

    /// By what it was told to end.
    pub(crate) fn cause(&self) -> &'static str {
        self.cause.get().copied().unwrap_or(UNNAMED)
    }
}
