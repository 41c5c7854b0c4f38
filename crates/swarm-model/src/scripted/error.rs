//! Why a scenario file cannot be used.

use std::path::PathBuf;

use crate::error::ModelError;

/// A scenario file that cannot be read or is not a scenario.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ScenarioError {
    /// The file cannot be read.
    #[error("the scenario {} cannot be read: {message}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system said.
        message: String,
    },
    /// Something in the file is wrong.
    #[error("{}:{line}: {message}", path.display())]
    Invalid {
        /// The file.
        path: PathBuf,
        /// The line, counted from 1.
        line: usize,
        /// The field and what to change.
        message: String,
    },
}

impl From<ScenarioError> for ModelError {
    fn from(error: ScenarioError) -> Self {
        Self::Scenario {
            message: error.to_string(),
        }
    }
}
