//! `cost.jsonl`: one line per model request of a team.

use serde::{Deserialize, Serialize};

use crate::{MemberName, Money, ReservationId, TaskId, UnixMs, Usage};

/// The usage and the cost of one model request, with the failed attempts before it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CostRecord {
    /// Time at which the request ended.
    pub at: UnixMs,
    /// The member whose process sent the request.
    pub member: MemberName,
    /// Type of the sub-agent that sent it, or `hook`; absent for the member itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The member's task in progress.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskId>,
    /// Model as `provider/model`.
    pub model: String,
    /// Tokens.
    pub usage: Usage,
    /// The cost; absent if the model had no price.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usd: Option<Money>,
    /// Date of the price that was used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price: Option<String>,
    /// Set if the record is not a request that ended; strict budgets only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reservation: Option<ReservationMark>,
}

/// What happens to the budget that is set aside for a request in progress.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ReservationMark {
    /// Set aside: usage and cost of the record are the most that the request can use.
    Reserved(ReservationId),
    /// No longer set aside; the record has no usage.
    Released(ReservationId),
}
