//! The queue of requests that wait for a person.

use swarm_protocol::RequestRecord;

use crate::BrokenFile;

/// The requests on file.
#[derive(Debug, Clone, Default)]
pub struct RequestList {
    /// Oldest first.
    pub requests: Vec<RequestRecord>,
    /// Files in the folder that should be requests and are not.
    pub broken: Vec<BrokenFile>,
}
