//! `swarm requests`, `approve` and `deny`.

mod answer;
mod list;
mod text;

pub(super) use answer::{approve, deny};
pub(super) use list::{is_open, run};
pub(super) use text::in_short;
