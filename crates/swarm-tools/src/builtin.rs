//! The list of built-in tools.

use std::sync::Arc;

use crate::{
    AskUserQuestion, Bash, Edit, EnterPlanMode, ExitPlanMode, Glob, Grep, NotebookEdit, Read,
    TodoWrite, Tool, Write,
};

/// Returns the built-in tools in the order of the prompt.
pub fn builtin() -> Vec<Arc<dyn Tool>> {
    vec![
        Arc::new(Read),
        Arc::new(Write),
        Arc::new(Edit),
        Arc::new(NotebookEdit),
        Arc::new(Glob),
        Arc::new(Grep),
        Arc::new(Bash),
        Arc::new(TodoWrite),
        Arc::new(AskUserQuestion),
        Arc::new(EnterPlanMode),
        Arc::new(ExitPlanMode),
    ]
}
