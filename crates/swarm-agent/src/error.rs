//! Errors of a session.

use std::path::PathBuf;

use swarm_model::ModelError;
use swarm_os::OsError;
use swarm_protocol::ErrorKind;

pub(crate) type Result<T, E = AgentError> = std::result::Result<T, E>;

/// Errors when a session is opened, input is delivered or a turn runs.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AgentError {
    /// The model did not respond.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// The context window was full before the end of the response.
    #[error(
        "the conversation exceeds the model's context window. Start a new agent or give it less to read"
    )]
    ContextFull,
    /// The conversation could not be compacted, for this reason.
    #[error(
        "the conversation could not be compacted: {0}. If it no longer fits the model's context window, start the agent afresh or use a model with a larger window"
    )]
    NotCompacted(String),
    /// The model or its safety filter declined to respond, with this text, which may be empty.
    #[error("the model declined to answer{}. Put the request differently, or start the agent afresh", said(.0))]
    Refused(String),
    /// The transcript could not be read or written. Lines that could not be written are not part of
    /// the conversation.
    #[error("the transcript {} cannot be used: {}. See that the disk has room and the directory is writable, then try again", .path.display(), with_cause(.source))]
    Transcript {
        /// Path of the transcript.
        path: PathBuf,
        /// Error of the file system.
        source: OsError,
    },
    /// The scratchpad directory could not be created.
    #[error("the scratchpad directory {} cannot be created: {}. See that the disk has room and the directory above it is writable, then try again", .path.display(), with_cause(.source))]
    Scratchpad {
        /// Path of the scratchpad.
        path: PathBuf,
        /// Error of the file system.
        source: OsError,
    },
    /// The program of a foreign runtime failed, with this error message or in this way.
    #[error("the agent program failed: {0}")]
    Runtime(String),
    /// There is no input to respond to.
    #[error(
        "the conversation ends in an answer, so there is nothing to answer: deliver a message first"
    )]
    NothingToAnswer,
    /// The conversation does not contain the line with this id, to which it was to be rewound.
    #[error("the conversation has no line {0}, so it was not rewound. Run /rewind again")]
    NotRewound(String),
    /// Two tools of an agent have this name, which model servers reject.
    #[error("two tools are called `{0}`: leave one of them out")]
    DuplicateTool(String),
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
    /// Returns whether the conversation does not fit the model's context window.
    pub fn is_out_of_room(&self) -> bool {
        matches!(
            self,
            Self::ContextFull | Self::NotCompacted(_) | Self::Model(ModelError::ContextTooLong(_))
        )
    }

    /// Returns the error kind for scripts.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Model(error) => error.kind(),
            Self::ContextFull | Self::NotCompacted(_) | Self::Refused(_) | Self::Runtime(_) => {
                ErrorKind::AgentFailed
            }
            Self::Transcript { .. } | Self::Scratchpad { .. } | Self::DuplicateTool(_) => {
                ErrorKind::Internal
            }
            Self::NothingToAnswer | Self::NotRewound(_) => ErrorKind::Usage,
        }
    }
}
