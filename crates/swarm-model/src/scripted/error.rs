//! Errors of scenario files.

use std::path::PathBuf;

use crate::error::ModelError;

/// A scenario file that cannot be read or is not a scenario.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ScenarioError {
    /// The file cannot be read.
    #[error("cannot read the scenario {}: {message}", path.display())]
    Unreadable {
        /// Path of the scenario file.
        path: PathBuf,
        /// Error of the operating system.
        message: String,
    },
    /// The content of the file is invalid.
    #[error("{}:{line}: {message}", path.display())]
    Invalid {
        /// Path of the scenario file.
        path: PathBuf,
        /// Line number, from 1.
        line: usize,
        /// The invalid field and how to correct it.
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
