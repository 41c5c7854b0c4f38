//! Attachments of a compacted conversation's first message besides the summary.

use std::path::Path;
use std::sync::Arc;

use serde_json::json;
use swarm_protocol::defang;
use swarm_tools::{Tool, ToolContext};

use super::Recent;

/// Most files to attach.
const FILES: usize = 5;

/// Returns the to-do list and the plan.
pub(super) fn notes(recent: &Recent) -> Vec<String> {
    let todos = recent
        .todos()
        .map(|todos| reminder("Your to-do list:", &todos));
    let plan = recent.plan().map(|plan| reminder("Your plan:", plan));
    todos.into_iter().chain(plan).collect()
}

/// Returns the current state of the team.
pub(super) fn team(brief: &str) -> String {
    reminder("Your team now:", brief)
}

/// Returns the current content of the files that the agent read or changed last. Files that do not
/// fit into `bytes` as a whole and files in `shown` are left out.
pub(super) async fn files(
    recent: &Recent,
    read: &Arc<dyn Tool>,
    context: &ToolContext,
    shown: &[String],
    bytes: u64,
    may_read: impl Fn(&serde_json::Value) -> bool,
) -> Vec<String> {
    let mut room = bytes;
    let mut attached = Vec::new();
    let fresh = recent
        .files()
        .filter(|path| !shown.iter().any(|known| known == path));
    for path in fresh {
        if attached.len() == FILES {
            break;
        }
        let is_small = std::fs::metadata(context.cwd.join(Path::new(path)))
            .is_ok_and(|metadata| metadata.is_file() && metadata.len() <= room);
        let input = json!({"file_path": path});
        if !is_small || !may_read(&input) {
            continue;
        }
        let output = read.call(input, context).await;
        let size = output.content.len() as u64;
        if output.is_error || size > room {
            continue;
        }
        room -= size;
        let title = format!("Current content of {path}, as returned by Read:");
        attached.push(reminder(&title, &output.content));
    }
    attached
}

fn reminder(title: &str, text: &str) -> String {
    format!(
        "<system-reminder>\n{title}\n\n{}\n</system-reminder>",
        defang(text)
    )
}
