//! `swarm requests`, `approve`, `deny` and `permissions`.

mod answer;
mod diff;
mod edit;
mod list;
mod permissions;
mod text;
mod which;

pub(super) use answer::{ApproveArgs, DenyArgs, approve, deny, person};
pub(super) use list::{
    RequestsArgs, adopt, is_open, open_requests, pending, run, waiting_elsewhere, who_waits,
};
pub(super) use permissions::{NO_RULES, PermissionsArgs, rule_table, run as permissions};
pub(super) use text::{details, granted, ignored_answer, in_short, questions, what};
