//! Permission between processes. A member whose call needs a yes puts a request into the team's
//! queue and tells the lead; a person answers; the answer is bound to the exact call. Silence means
//! no.

mod answer;
mod ask;
mod foreign;
mod lead_agent;
mod outcome;
mod question;

pub use answer::{answer, answer_frame, approve, approve_edited, deny};
pub use ask::{ChangeSignal, OpenRequest, open_request, wait_for_answer};
pub use foreign::{adopt_request, adopt_requests};
pub(crate) use lead_agent::{answer_plan, deny_permission};
