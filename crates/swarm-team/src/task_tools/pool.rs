//! The set of task tools.

use std::sync::Arc;

use swarm_tools::Tool;

use super::create::TaskCreate;
use super::get::TaskGet;
use super::list::TaskList;
use super::update::TaskUpdate;
use crate::MemberContext;

/// The task tools of one member.
pub fn task_tools(context: &Arc<MemberContext>) -> Vec<Arc<dyn Tool>> {
    vec![
        Arc::new(TaskCreate(Arc::clone(context))),
        Arc::new(TaskGet(Arc::clone(context))),
        Arc::new(TaskList(Arc::clone(context))),
        Arc::new(TaskUpdate(Arc::clone(context))),
    ]
}
