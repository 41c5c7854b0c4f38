//! Results of the Agent tool.

use swarm_permissions::{AgentDefinition, AgentSource};
use swarm_tools::ToolOutput;

use super::record::{Finding, Record, SubAgentStatus};
use crate::limits::cut;

/// The text of a sub-agent that returned none. From Claude Code.
pub(super) const NO_OUTPUT: &str = "(Subagent completed but returned no output.)";

/// Built-in types that run only once, so the model does not need their id.
const ONE_SHOT: [&str; 2] = ["Explore", "Plan"];

/// Returns the result of a sub-agent that its parent waited for.
pub(crate) fn completed(record: &Record, limit: usize) -> ToolOutput {
    let finding = record.finding();
    let status = record.view().status;
    let error = finding.error.as_deref().unwrap_or("unknown reason");
    let head = match status {
        SubAgentStatus::Completed | SubAgentStatus::Running => None,
        SubAgentStatus::Failed => Some(format!("The sub-agent failed: {error}.")),
        SubAgentStatus::Killed => Some("The sub-agent was stopped before it finished.".to_owned()),
        SubAgentStatus::Interrupted => Some("The sub-agent was interrupted.".to_owned()),
    };
    let content = match head {
        None => words(&finding, record, limit),
        Some(head) if finding.text.is_empty() => head,
        Some(head) => format!("{head} Its last text:\n{}", words(&finding, record, limit)),
    };
    let mut lines = vec![content];
    if !is_one_shot(&record.request.definition) || finding.kept.is_some() {
        let id = &record.id;
        lines.push(if has_messages(record) {
            format!("\nagentId: {id} (use SendMessage with to: '{id}' to continue this agent)")
        } else {
            format!("\nagentId: {id}")
        });
        if let Some(kept) = &finding.kept {
            lines.push(format!("worktreePath: {}", kept.path.display()));
            let branch = kept.branch.as_ref();
            lines.extend(branch.map(|branch| format!("worktreeBranch: {branch}")));
            if !kept.holds.is_empty() {
                lines.push(format!("worktreeHolds: {}", kept.holds.join("; ")));
            }
        }
        lines.push(format!(
            "<usage>total_tokens: {}\ntool_uses: {}\nduration_ms: {}</usage>",
            finding.totals.usage.total(),
            finding.totals.tool_calls,
            finding.duration_ms
        ));
    }
    let line = format!("{} {}", record.agent_type(), status.name());
    ToolOutput {
        is_error: status != SubAgentStatus::Completed,
        ..ToolOutput::ok(lines.join("\n"), line)
    }
}

/// Returns the result of a call that started a background sub-agent.
pub(crate) fn launched(record: &Record, can_read: bool) -> ToolOutput {
    let id = &record.id;
    let more = if has_messages(record) {
        format!(" Use SendMessage with to: '{id}' to send it a message, and TaskStop to stop it.")
    } else {
        String::new()
    };
    let content = format!(
        "Async agent launched successfully.\nagentId: {id}\nname: {}\nIt works in the background, and you will be \
         notified when it ends. Continue with other work and do not duplicate its work.{more}",
        record.name
    );
    let file = if can_read {
        format!(
            "\noutput_file: {}\nThe file contains the complete result once the agent has ended; before that it does not exist.",
            record.output().display()
        )
    } else {
        " End your turn if you have nothing else to do.".to_owned()
    };
    let content = content + &file;
    ToolOutput::ok(content, format!("{} in the background", record.name))
}

/// Returns whether its parent has `SendMessage`; sub-agents, which are not members, do not.
fn has_messages(record: &Record) -> bool {
    record.parent.id.is_none()
}

/// Returns the last text, cut to `limit` characters; the output file has the whole.
pub(super) fn words(finding: &Finding, record: &Record, limit: usize) -> String {
    if finding.text.is_empty() {
        return NO_OUTPUT.to_owned();
    }
    let whole = finding.text.chars().count();
    let text = cut(finding.text.clone(), limit);
    let text = record.handoff.checked(&text).into_owned();
    if whole <= limit {
        return text;
    }
    format!("{text}\n[complete result: {}]", record.output().display())
}

fn is_one_shot(definition: &AgentDefinition) -> bool {
    definition.source == AgentSource::BuiltIn && ONE_SHOT.contains(&definition.name.as_str())
}
