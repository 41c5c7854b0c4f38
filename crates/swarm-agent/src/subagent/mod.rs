//! Sub-agents: each has its own conversation, permissions and transcript, and returns one result.
//!
//! [`SubAgents`] is the registry of a process. Runs begin only in `begin.rs` and end only in
//! `end.rs`.

mod admission;
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
mod isolator;
mod kit;
mod list_agents;
mod meta;
mod notification;
mod own_commands;
mod parent;
mod pool;
mod prompt;
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

pub use isolator::{IsolatedDirectory, Isolator};
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
