//! Notifications that a background sub-agent or command has ended, and the background commands of a
//! sub-agent, which end with its run.

use std::sync::Arc;
use std::time::Duration;

use swarm_protocol::MessageId;
use swarm_tools::{BackgroundCommand, BackgroundCommands, CommandState};
use tokio_util::sync::CancellationToken;

use super::record::{Record, SubAgentStatus};
use super::report::words;
use crate::Injected;

/// Most characters of a command's output in its notification; the output file has the rest.
const END_OF_OUTPUT: usize = 2_000;

/// The text of a notification, in Claude Code's form.
struct TaskTags(Vec<String>);

impl TaskTags {
    fn new(task_id: &str, tool_use_id: &str) -> Self {
        let mut tags = Self(vec![
            "<system-reminder>".to_owned(),
            "This is an event of the program, not input from a person.".to_owned(),
            "<task-notification>".to_owned(),
        ]);
        tags.add("task-id", task_id);
        if !tool_use_id.is_empty() {
            tags.add("tool-use-id", &escape(tool_use_id));
        }
        tags
    }

    fn add(&mut self, name: &str, value: &str) {
        self.0.push(format!("<{name}>{value}</{name}>"));
    }

    fn end(self) -> String {
        self.0.join("\n") + "\n</task-notification>\n</system-reminder>"
    }
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

/// Returns the notification of the sub-agent's last end. Its id is derived from the run, so that a
/// transcript contains it only once.
pub(super) fn notification(record: &Record, limit: usize) -> Injected {
    let (finding, status) = (record.finding(), record.view().status);
    let (word, how) = match status {
        SubAgentStatus::Completed => ("completed", "completed".to_owned()),
        SubAgentStatus::Killed => ("killed", "was stopped".to_owned()),
        SubAgentStatus::Interrupted => ("failed", "failed: its process terminated".to_owned()),
        SubAgentStatus::Failed | SubAgentStatus::Running => {
            let error = finding.error.as_deref().unwrap_or("unknown reason");
            ("failed", format!("failed: {}", escape(error)))
        }
    };
    let description = escape(&record.request.description);
    let mut tags = TaskTags::new(record.id.as_str(), &record.request.settings.tool_use_id);
    tags.add("output-file", &record.output().display().to_string());
    tags.add("status", word);
    tags.add("summary", &format!("Agent \"{description}\" {how}"));
    if is_handed_out(record) {
        tags.add("result", "Already returned by TaskOutput.");
    } else if !finding.text.is_empty() || status == SubAgentStatus::Completed {
        tags.add("result", &escape(&words(&finding, record, limit)));
    }
    let usage = format!(
        "<total_tokens>{}</total_tokens><tool_uses>{}</tool_uses><duration_ms>{}</duration_ms>",
        finding.totals.usage.total(),
        finding.totals.tool_calls,
        finding.duration_ms
    );
    tags.add("usage", &usage);
    if let Some(kept) = &finding.kept {
        let branch = kept.branch.as_deref().unwrap_or_default();
        let holds = match kept.holds.join("; ") {
            none if none.is_empty() => none,
            holds => format!("<worktreeHolds>{}</worktreeHolds>", escape(&holds)),
        };
        let worktree = format!(
            "<worktreePath>{}</worktreePath><worktreeBranch>{}</worktreeBranch>{holds}",
            escape(&kept.path.display().to_string()),
            escape(branch)
        );
        tags.add("worktree", &worktree);
    }
    Injected::message(message_id(record), tags.end())
}

/// Returns how a command ended, in a few words.
pub(super) fn command_outcome(command: &BackgroundCommand) -> String {
    match command.state() {
        CommandState::Ended(true, _) => "completed".to_owned(),
        CommandState::Ended(false, how) => format!("failed: {how}"),
        CommandState::Running | CommandState::Stopped => "was stopped".to_owned(),
    }
}

/// Returns the notification of the end of a background command.
pub(super) fn command_ended(command: &BackgroundCommand, chars: usize) -> Injected {
    let (state, id, how) = (command.state(), command.id(), command_outcome(command));
    let mut tags = TaskTags::new(id, command.tool_use_id());
    if let Some(file) = command.file() {
        tags.add("output-file", &file.display().to_string());
    }
    tags.add("status", state.word());
    let line = escape(&command.one_line());
    tags.add("summary", &format!("Background command \"{line}\" {how}"));
    let output = command.output(chars.min(END_OF_OUTPUT));
    if !output.trim().is_empty() {
        tags.add("result", &escape(output.trim_end()));
    }
    Injected::message(MessageId::new(id), tags.end())
}

/// Escapes closing tags, so that a sub-agent's text cannot close the frame around it.
fn escape(text: &str) -> String {
    ["task-notification", "system-reminder", "result"]
        .iter()
        .fold(text.to_owned(), |text, tag| {
            text.replace(&format!("</{tag}"), &format!("<\\/{tag}"))
        })
}

/// How long a sub-agent without other work waits for its commands: as long as one may run in the
/// foreground. A server, for example, would never end.
const WAIT: Duration = Duration::from_mins(10);

impl Record {
    /// Sets up background commands for a new run. The sub-agent is notified when one ends, with at
    /// most `chars` characters of its output.
    pub(super) fn begin_commands(self: &Arc<Self>, chars: usize) {
        let commands = Arc::<BackgroundCommands>::default();
        let (record, own) = (Arc::downgrade(self), Arc::downgrade(&commands));
        commands.on_change(move || {
            let (Some(record), Some(own)) = (record.upgrade(), own.upgrade()) else {
                return;
            };
            let ended = own.take_unreported();
            let notifications = ended.iter().map(|command| command_ended(command, chars));
            record.live().mail.extend(notifications);
            record.came.notify_one();
        });
        self.live().commands = commands;
    }

    /// Waits until the sub-agent has input or none of its commands runs, at most ten minutes.
    pub(super) async fn wait_for_commands(&self, cancel: &CancellationToken) {
        let commands = Arc::clone(&self.live().commands);
        let has_to_wait = || self.live().mail.is_empty() && !commands.running().is_empty();
        let waited = async {
            while has_to_wait() {
                self.came.notified().await;
            }
        };
        tokio::select! {
            () = waited => {}
            () = cancel.cancelled() => {}
            () = tokio::time::sleep(WAIT) => {}
        }
    }
}
