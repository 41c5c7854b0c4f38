//! Permission between processes. A member whose call needs a yes puts a request into the team's queue and tells
//! the lead; a person answers; the answer is bound to the exact call. Silence means no.

mod answer;
mod ask;
mod outcome;

pub use answer::{answer, answer_frame, approve, deny};
pub use ask::{OpenRequest, Wake, open_request, wait_for_answer};
