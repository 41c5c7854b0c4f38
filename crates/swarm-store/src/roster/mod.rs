//! The roster: new members, and the rules for changes. No I/O.

mod busy;
mod changes;
mod operations;
mod rules;
mod types;
mod undo;

pub(crate) use busy::refuse_if_busy;
pub(crate) use changes::{
    Place, allow_path, clear_lost_lead, commit, disallow_path, member_of, refuse_if_led, removable,
    set_lead_process, set_lead_session,
};
pub use operations::{Roster, Spawns};
pub(crate) use rules::RosterRules;
pub use types::{NewMember, RemovedMember, StoppedSpawn};
pub(crate) use undo::{Undo, has_living, position_of, reserved, restore};
