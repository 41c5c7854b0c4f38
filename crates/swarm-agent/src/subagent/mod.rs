//! Sub-agents: each has its own conversation, permissions and transcript, and returns one result.
//!
//! [`SubAgents`] is the registry of a process. Runs begin only in `begin.rs` and end only in
//! `end.rs`.

mod attach;
mod background;
mod begin;
mod child;
mod drive;
mod end;
mod fork;
mod gate;
mod hold;
mod interject;
mod kit;
mod list_agents;
mod meta;
mod notification;
mod parent;
mod pool;
mod record;
mod registry;
mod reopen;
mod report;
mod request;
mod send;
mod servers;
mod sink;
mod task_output;
mod task_stop;

pub use kit::{ModelFactory, NoOtherModels, ReadyModel, SubAgentServices};
use list_agents::ListAgents;
pub(crate) use parent::Parent;
pub use record::SubAgentStatus;
pub(crate) use record::{Link, Record};
pub use registry::SubAgents;
pub(crate) use report::{completed, launched};
pub(crate) use request::{CallSettings, SubAgentRequest};
use task_output::TaskOutput;
use task_stop::TaskStop;
