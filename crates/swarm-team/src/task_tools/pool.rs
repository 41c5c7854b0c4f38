//! The four tools together, and what they share.

use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde_json::Value;
use swarm_tools::{Tool, ToolOutput};

use super::create::TaskCreate;
use super::get::TaskGet;
use super::list::TaskList;
use super::update::TaskUpdate;
use crate::Seat;

/// The task tools of one member.
pub fn task_tools(seat: &Arc<Seat>) -> Vec<Arc<dyn Tool>> {
    vec![
        Arc::new(TaskCreate(Arc::clone(seat))),
        Arc::new(TaskGet(Arc::clone(seat))),
        Arc::new(TaskList(Arc::clone(seat))),
        Arc::new(TaskUpdate(Arc::clone(seat))),
    ]
}

/// Parses an input, or says what is wrong with it.
pub(super) fn parse<T: DeserializeOwned>(tool: &str, input: Value) -> Result<T, ToolOutput> {
    serde_json::from_value(input).map_err(|error| {
        ToolOutput::error(format!(
            "{tool}: the input does not fit its schema: {error}"
        ))
    })
}
