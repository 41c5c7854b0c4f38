//! Test support shared by several crates: conditions, a scripted model, a fake backend of
//! panes, a team with simulated members.
#![expect(
    missing_docs,
    clippy::missing_panics_doc,
    clippy::new_without_default,
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "used by tests only: a panic fails the test, and the names are self-explanatory"
)]

mod acp;
mod child;
mod model;
mod recording_backend;
mod wait;
mod world;

pub use acp::{ACP_AGENT, fake_acp_agent, fake_acp_agent_with};
pub use child::{Child, play_child};
pub use model::*;
pub use recording_backend::{PaneCall, RecordingBackend};
pub use wait::{DEADLINE, until, wait_for, wait_until};
pub use world::*;
