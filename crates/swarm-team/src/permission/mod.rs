//! Permissions across processes. A member whose call needs approval adds a request to the team's
//! queue and notifies the lead; a person answers; the answer is bound to the exact call. A timeout
//! means no.

mod always;
mod answer;
mod ask;
mod foreign;
mod former_leads;
mod lead_agent;
mod outcome;
mod question;

pub use always::AlwaysGrants;
pub use answer::{EarlierAnswer, answer_request, earlier_answer};
pub use ask::{ChangeSignal, OpenRequest, open_request, wait_for_answer};
pub use foreign::{adopt_request, adopt_requests, early_plan_wait};
pub use former_leads::end_requests_of_former_leads;
pub(crate) use lead_agent::{answer_call, answer_plan};
