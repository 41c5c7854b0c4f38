//! The member loop: mail, turns, permission and shutdown, for the lead and for teammates.

mod assemble;
mod broker;
mod deferred_writes;
mod either_change;
mod granted;
mod hook_watch;
mod lead;
mod mail;
mod mail_delivery;
mod member_loop;
mod peer_queue;
mod peers;
mod person;
mod reporter;
mod request_meter;
mod role;
mod servers;
mod spending;
mod teammate;
mod turn;

pub use assemble::ModelServices;
pub use lead::{
    Beginning, LeadParts, MemberLine, Outcome, PeerPlace, RunReport, StopTokens, TaskLine, run_lead,
};
pub use reporter::PaneSink;
pub use spending::SpendingMeter;
pub use teammate::{
    Ending, ProcessFacts, TeammateError, TeammatePane, TeammateParts, Termination, run,
};
