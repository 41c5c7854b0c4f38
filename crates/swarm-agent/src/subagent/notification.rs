//! Notifications that a background sub-agent or command has ended.

use swarm_protocol::MessageId;
use swarm_tools::{BackgroundCommand, CommandState};

use super::record::{Finding, Record, SubAgentStatus};
use super::report::words;
use crate::Injected;

/// Most characters of a command's output in its notification; the output file has the rest.
const END_OF_OUTPUT: usize = 2_000;

/// Returns the notification of the sub-agent's last end, in Claude Code's form. Its id is derived
/// from the run, so that a transcript contains it only once.
pub(super) fn notification(record: &Record, limit: usize) -> Injected {
    let finding = record.finding();
    let status = record.view().status;
    let text = render(record, &finding, status, limit);
    Injected::message(message_id(record), text)
}

/// Returns the id of the notification of the sub-agent's last end.
pub(super) fn message_id(record: &Record) -> MessageId {
    MessageId::new(format!("{}-{}", record.id, record.live().runs))
}

/// Returns whether its parent has received the result of the last run through `TaskOutput`.
fn is_handed_out(record: &Record) -> bool {
    let live = record.live();
    live.runs > 0 && live.handed_out == live.runs
}

fn render(record: &Record, finding: &Finding, status: SubAgentStatus, limit: usize) -> String {
    let description = escape(&record.request.description);
    let summary = match status {
        SubAgentStatus::Completed => format!("Agent \"{description}\" completed"),
        SubAgentStatus::Killed => format!("Agent \"{description}\" was stopped"),
        SubAgentStatus::Interrupted => {
            format!("Agent \"{description}\" failed: its process terminated")
        }
        SubAgentStatus::Failed | SubAgentStatus::Running => format!(
            "Agent \"{description}\" failed: {}",
            escape(finding.error.as_deref().unwrap_or("unknown reason"))
        ),
    };
    let word = match status {
        SubAgentStatus::Completed => "completed",
        SubAgentStatus::Killed => "killed",
        _ => "failed",
    };
    let mut lines = vec![
        "<system-reminder>".to_owned(),
        "This is an event of the program, not input from a person.".to_owned(),
        "<task-notification>".to_owned(),
    ];
    let mut tag = |name: &str, value: &str| lines.push(format!("<{name}>{value}</{name}>"));
    tag("task-id", record.id.as_str());
    if !record.request.tool_use_id.is_empty() {
        tag("tool-use-id", &escape(&record.request.tool_use_id));
    }
    tag("output-file", &record.output().display().to_string());
    tag("status", word);
    tag("summary", &summary);
    if is_handed_out(record) {
        tag("result", "Already returned by TaskOutput.");
    } else if !finding.text.is_empty() || status == SubAgentStatus::Completed {
        tag("result", &escape(&words(finding, record, limit)));
    }
    tag(
        "usage",
        &format!(
            "<total_tokens>{}</total_tokens><tool_uses>{}</tool_uses><duration_ms>{}</duration_ms>",
            finding.totals.usage.total(),
            finding.totals.tool_calls,
            finding.duration_ms
        ),
    );
    if let Some(kept) = &finding.kept {
        let branch = kept.branch.as_deref().unwrap_or_default();
        let holds = match kept.holds.join("; ") {
            none if none.is_empty() => none,
            holds => format!("<worktreeHolds>{}</worktreeHolds>", escape(&holds)),
        };
        tag(
            "worktree",
            &format!(
                "<worktreePath>{}</worktreePath><worktreeBranch>{}</worktreeBranch>{holds}",
                escape(&kept.path.display().to_string()),
                escape(branch)
            ),
        );
    }
    lines.push("</task-notification>\n</system-reminder>".to_owned());
    lines.join("\n")
}

/// Returns how a command ended, in a few words.
pub(super) fn command_outcome(command: &BackgroundCommand) -> String {
    match command.state() {
        CommandState::Ended(true, _) => "completed".to_owned(),
        CommandState::Ended(false, how) => format!("failed: {how}"),
        CommandState::Running | CommandState::Stopped => "was stopped".to_owned(),
    }
}

/// Returns the notification of the end of a background command, in Claude Code's form.
pub(super) fn command_ended(command: &BackgroundCommand, chars: usize) -> Injected {
    let (state, id, how) = (command.state(), command.id(), command_outcome(command));
    let mut lines = vec![
        "<system-reminder>".to_owned(),
        "This is an event of the program, not input from a person.".to_owned(),
        "<task-notification>".to_owned(),
    ];
    let mut tag = |name: &str, value: &str| lines.push(format!("<{name}>{value}</{name}>"));
    tag("task-id", id);
    if !command.tool_use_id().is_empty() {
        tag("tool-use-id", &escape(command.tool_use_id()));
    }
    if let Some(file) = command.file() {
        tag("output-file", &file.display().to_string());
    }
    tag("status", state.word());
    let line = escape(&command.one_line());
    tag("summary", &format!("Background command \"{line}\" {how}"));
    let output = command.output(chars.min(END_OF_OUTPUT));
    if !output.trim().is_empty() {
        tag("result", &escape(output.trim_end()));
    }
    lines.push("</task-notification>\n</system-reminder>".to_owned());
    Injected::message(MessageId::new(id), lines.join("\n"))
}

/// Escapes closing tags, so that a sub-agent's text cannot close the frame around it.
fn escape(text: &str) -> String {
    ["task-notification", "system-reminder", "result"]
        .iter()
        .fold(text.to_owned(), |text, tag| {
            text.replace(&format!("</{tag}"), &format!("<\\/{tag}"))
        })
}
