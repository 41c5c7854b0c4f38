//! What can go wrong in a session.

use std::path::PathBuf;

use swarm_model::ModelError;
use swarm_os::OsError;
use swarm_protocol::ErrorKind;

/// Why a session could not be opened, input not be delivered, or a turn not be finished.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AgentError {
    /// The model gave no answer.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// The model ran out of context window in the middle of its answer.
    #[error(
        "the conversation exceeds the model's context window. Start a new agent or give it less to read"
    )]
    ContextFull,
    /// No summary of the conversation came about.
    #[error(
        "the conversation could not be compacted: {why}. If it no longer fits the model's context window, start the agent afresh or use a model with a larger window"
    )]
    NotCompacted {
        /// What went wrong.
        why: String,
    },
    /// The model or its safety layer declined to go on.
    #[error("the model declined to answer{}. Put the request differently, or start the agent afresh", said(.text))]
    Refused {
        /// What it said about it; may be empty.
        text: String,
    },
    /// The transcript could not be read or written. What failed to be written has not happened.
    #[error("the transcript {} cannot be used: {}. See that the disk has room and the directory is writable, then try again", .path.display(), with_cause(.source))]
    Transcript {
        /// The transcript's file.
        path: PathBuf,
        /// What the disk said.
        source: OsError,
    },
    /// The directory that the workers of a coordinator share could not be created.
    #[error("the scratchpad directory {} cannot be created: {}. See that the disk has room and the directory above it is writable, then try again", .path.display(), with_cause(.source))]
    Scratchpad {
        /// The directory.
        path: PathBuf,
        /// What the disk said.
        source: OsError,
    },
    /// The other program that answers in this conversation failed.
    #[error("the agent program failed: {why}")]
    Runtime {
        /// What it said, or how it ended.
        why: String,
    },
    /// There is no input that waits for an answer.
    #[error(
        "the conversation ends in an answer, so there is nothing to answer: deliver a message first"
    )]
    NothingToAnswer,
    /// Two tools of one agent have the same name, which no model server accepts.
    #[error("two tools are called `{name}`: leave one of them out")]
    DuplicateTool {
        /// The name.
        name: String,
    },
}

fn said(text: &str) -> String {
    match text.trim() {
        "" => String::new(),
        text => format!(" and said: {text}"),
    }
}

fn with_cause(error: &OsError) -> String {
    match std::error::Error::source(error) {
        Some(cause) => format!("{error}: {cause}"),
        None => error.to_string(),
    }
}

impl AgentError {
    /// Whether the conversation does not fit the model's context window.
    pub fn is_out_of_room(&self) -> bool {
        matches!(
            self,
            Self::ContextFull
                | Self::NotCompacted { .. }
                | Self::Model(ModelError::ContextTooLong { .. })
        )
    }

    /// The kind that scripts see.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Model(error) => error.kind(),
            Self::ContextFull
            | Self::NotCompacted { .. }
            | Self::Refused { .. }
            | Self::Runtime { .. } => ErrorKind::AgentFailed,
            Self::Transcript { .. } | Self::Scratchpad { .. } | Self::DuplicateTool { .. } => {
                ErrorKind::Internal
            }
            Self::NothingToAnswer => ErrorKind::Usage,
        }
    }
}
