//! What stands in the first message of a compacted conversation besides the summary.

use std::path::Path;
use std::sync::Arc;

use serde_json::json;
use swarm_model::{Role, StoredBlock, StoredMessage};
use swarm_protocol::defang;
use swarm_tools::{Tool, ToolContext};

use super::Recent;
use crate::fork::opens_fork;

/// The most files that are attached.
const FILES: usize = 5;

/// The to-do list and the plan.
pub(super) fn notes(recent: &Recent) -> Vec<String> {
    let todos = recent
        .todos()
        .map(|todos| reminder("Your to-do list:", &todos));
    let plan = recent
        .plan()
        .map(|plan| reminder("The plan that you made:", plan));
    todos.into_iter().chain(plan).collect()
}

/// The team at the moment.
pub(super) fn team(brief: &str) -> String {
    reminder("Your team at this moment:", brief)
}

/// Files that the agent read or changed last, as they are now, each of them whole. Those without room in `bytes` are left
/// out, as are those that `shown` has.
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
        let title = format!("The file {path} as it is now, as Read shows it:");
        attached.push(reminder(&title, &output.content));
    }
    attached
}

/// The directive of a fork, by which it knows what it is.
pub(super) fn directive(conversation: &[Arc<StoredMessage>]) -> Option<StoredBlock> {
    let users = conversation
        .iter()
        .filter(|message| message.role == Role::User);
    let mut blocks = users.flat_map(|message| &message.blocks);
    blocks.find(|block| opens_fork(block)).cloned()
}

fn reminder(title: &str, text: &str) -> String {
    format!(
        "<system-reminder>\n{title}\n\n{}\n</system-reminder>",
        defang(text)
    )
}
