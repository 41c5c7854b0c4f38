//! Signatures of grants, as recorded.

use serde::{Deserialize, Serialize};

use crate::{MessageId, UnixMs};

/// The signature of a grant, in the journal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GrantSignature {
    /// Id of the grant, never reused.
    pub id: MessageId,
    /// Time of the grant.
    pub at: UnixMs,
    /// Ed25519 signature in hex.
    pub value: String,
}
