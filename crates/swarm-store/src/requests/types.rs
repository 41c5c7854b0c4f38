//! Results of the request queue.

use swarm_protocol::RequestRecord;

use crate::BrokenFile;

/// Reason for ignoring an answer that is not in the journal.
pub const NOT_ENTERED: &str = "no command recorded it in the journal";

/// The requests on file.
#[derive(Debug, Clone, Default)]
pub struct RequestList {
    /// Oldest first.
    pub requests: Vec<RequestRecord>,
    /// Files in the directory that are not valid requests.
    pub broken: Vec<BrokenFile>,
}

/// Result of looking up the answer to a request.
#[derive(Debug, Clone, PartialEq)]
pub enum AnswerLookup {
    /// No answer yet.
    Pending,
    /// The answered request; the answer is also in the journal.
    Answered(Box<RequestRecord>),
    /// The file held an invalid answer, with the reason. The request is open again.
    Rejected(String),
}
