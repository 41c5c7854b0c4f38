//! The end of a sub-agent: first its status, then its servers and its directory, then the
//! notification of its parent.

use std::sync::Arc;
use std::time::Duration;

use swarm_os::replace_alone;
use swarm_protocol::{AgentEvent, MessageId};
use swarm_tools::BackgroundCommands;

use super::SubAgents;
use super::drive::Ended;
use super::notification::notification;
use super::record::{Finding, Record, StoppedBy, SubAgentStatus};

/// How long the commands of a sub-agent may take to stop at its end.
const COMMAND_GRACE: Duration = Duration::from_secs(10);

impl SubAgents {
    /// Ends a run of a sub-agent. Every run ends here.
    pub(super) async fn end(&self, record: &Arc<Record>, ended: Ended, model: &str) {
        let Ended {
            status,
            mut finding,
        } = ended;
        let own = finding.totals;
        {
            let mut live = record.live();
            finding.totals += live.below;
            finding.duration_ms = self.kit().clock.now().since(live.started);
            live.finding = finding.clone();
            live.open = false;
            // Messages wait for its next run. Notifications of its own sub-agents go to the agent of
            // the process; those of its commands concern only this run.
            let mail = live
                .mail
                .extract_if(.., |piece| !piece.message_ids.is_empty());
            let is_command = |id: &MessageId| BackgroundCommands::is_command(id.as_str());
            let ends = mail.filter(|piece| !piece.message_ids.iter().any(is_command));
            self.lock().mail.extend(ends);
        }
        self.lock().admission.release(&record.id);
        if let Some(parent) = self.parent_record(record) {
            parent.live().below += finding.totals;
        }
        record.view.send_modify(|view| view.status = status);
        write_result(record, &finding);
        record.note();
        let commands = Arc::clone(&record.live().commands);
        tokio::join!(close_servers(record), commands.shut_down(COMMAND_GRACE));
        self.clean_up_directory(record).await;
        if let Ok(root) = self.root() {
            root.events.emit(AgentEvent::SubAgentEnded {
                id: record.id.clone(),
                agent_type: record.agent_type().to_owned(),
                outcome: status.name().to_owned(),
                error: finding.error.clone(),
                model: model.to_owned(),
                usage: own.usage,
                tool_calls: own.tool_calls,
                duration_ms: finding.duration_ms,
            });
        }
        self.complete(record);
    }

    /// Marks the end as complete. The parent of a background sub-agent is notified; other parents
    /// wait for it.
    fn complete(&self, record: &Arc<Record>) {
        let mut background = false;
        record.view.send_modify(|view| {
            background = view.background;
            // Background work ends only after its notification is queued.
            view.settled = !background;
        });
        let stopped_by = record.live().stopped_by;
        let knows = matches!(stopped_by, Some(StoppedBy::Parent | StoppedBy::Process));
        // A coordinator gets the results of its workers in one way only.
        let knows = knows || stopped_by == Some(StoppedBy::Agent) && !self.coordinates();
        if background && !knows {
            self.notify(record);
        } else {
            // The next process reports an interruption by the end of this one.
            record.live().notified = stopped_by != Some(StoppedBy::Process) || !background;
            record.note();
        }
        record.view.send_modify(|view| view.settled = true);
        self.notify_changed();
    }

    /// Queues the notification for its parent: for a running sub-agent, or else for the agent of
    /// the process.
    pub(super) fn notify(&self, record: &Arc<Record>) {
        let word = notification(record, self.kit().agent_config.limits.output_chars);
        let mut word = Some(word);
        if let Some(parent) = self.parent_record(record) {
            let mut live = parent.live();
            if live.open {
                live.mail.extend(word.take());
            }
        }
        self.lock().mail.extend(word);
    }

    async fn clean_up_directory(&self, record: &Record) {
        let directory = record.live().directory.take();
        let (Some(directory), Some(isolator)) = (directory, &self.kit().isolator) else {
            return;
        };
        let kept = isolator.clean_up(&record.id, directory).await;
        let mut live = record.live();
        live.finding.kept.clone_from(&kept);
        live.directory = kept;
    }

    /// Removes a sub-agent that did not start.
    pub(super) async fn discard(&self, record: &Record) {
        close_servers(record).await;
        self.clean_up_directory(record).await;
        {
            let mut inner = self.lock();
            inner.admission.release(&record.id);
            inner.records.retain(|known| known.id != record.id);
        }
        // Callers that stop it wait for this.
        record.view.send_modify(|view| {
            view.status = SubAgentStatus::Failed;
            view.settled = true;
        });
    }

    /// Records that a sub-agent could not be resumed.
    pub(super) async fn abort_resume(&self, record: &Record, why: &str) {
        close_servers(record).await;
        self.lock().admission.release(&record.id);
        {
            let mut live = record.live();
            live.finding = Finding {
                error: Some(why.to_owned()),
                ..Finding::default()
            };
            live.notified = true;
            // The next message tries again; queued messages wait for that.
            live.open = false;
        }
        record.view.send_modify(|view| {
            view.status = SubAgentStatus::Failed;
            view.settled = true;
        });
        record.note();
        self.notify_changed();
    }
}

async fn close_servers(record: &Record) {
    let servers = record.live().servers.take();
    if let Some(servers) = servers {
        servers.close().await;
    }
}

fn write_result(record: &Record, finding: &Finding) {
    let mut text = finding.text.clone();
    if let Some(error) = &finding.error {
        text = format!("[failed: {error}]\n{text}");
    }
    if let Err(error) = replace_alone(&record.output(), text.as_bytes()) {
        tracing::warn!(agent = %record.id, %error, "cannot write the result of a sub-agent");
    }
}
