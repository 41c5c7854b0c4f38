//! `swarm team …`.

mod create;
mod delete;
mod dispatch;
mod down;
mod external;
mod list;
mod show;
mod up;

pub(super) use dispatch::{TeamCommand, run};
pub(super) use list::{ENDED, how_to_continue, member_state, state_in};
