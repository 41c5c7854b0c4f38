//! Where a sub-agent ends: first its status, then its servers and its directory, then the word to its parent.

use std::sync::Arc;
use std::time::Duration;

use swarm_os::replace_alone;
use swarm_protocol::{AgentEvent, MessageId};
use swarm_tools::BackgroundCommands;

use super::SubAgents;
use super::drive::Ended;
use super::notification::notification;
use super::record::{Finding, Record, StoppedBy, SubAgentStatus};

/// How long the commands of a sub-agent may take to end with it.
const ENDING: Duration = Duration::from_secs(10);

impl SubAgents {
    /// The one place where a run of a sub-agent ends: everything that has to happen then happens here.
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
            live.mail
                .retain(|piece| !piece.message_ids.iter().any(is_of_command));
            // Words to itself wait for its next run; of the ends of its own sub-agents somebody else has to hear.
            let (words, ends) = std::mem::take(&mut live.mail)
                .into_iter()
                .partition(|piece| piece.message_ids.is_empty());
            live.mail = words;
            let ends: Vec<_> = ends;
            self.lock().mail.extend(ends);
        }
        self.lock().admission.release(&record.id);
        self.charge_parent(record, &finding);
        record.view.send_modify(|view| view.status = status);
        write_result(record, &finding);
        record.note();
        let commands = Arc::clone(&record.live().commands);
        tokio::join!(close_servers(record), commands.shut_down(ENDING));
        self.clear_directory(record).await;
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
        self.settle(record);
    }

    /// Nothing follows any more. The parent of one in the background is told; the other waits for it.
    fn settle(&self, record: &Arc<Record>) {
        let mut background = false;
        record.view.send_modify(|view| {
            background = view.background;
            // Whoever finds that nobody works in the background any more finds the word of the last end too.
            view.settled = !background;
        });
        let stopped_by = record.live().stopped_by;
        let knows = matches!(stopped_by, Some(StoppedBy::Parent | StoppedBy::Process));
        // A coordinator gets the results of its workers in one way only.
        let knows = knows || stopped_by == Some(StoppedBy::Agent) && !self.coordinates();
        if background && !knows {
            self.notify(record);
        } else {
            // The end of the process is told of by the next one.
            record.live().told = stopped_by != Some(StoppedBy::Process) || !background;
            record.note();
        }
        record.view.send_modify(|view| view.settled = true);
        self.stir();
    }

    /// Puts the word of its end where its parent reads: into the mail of a sub-agent that works, else of the agent of the
    /// process.
    pub(super) fn notify(&self, record: &Arc<Record>) {
        let word = notification(record, self.kit().agent_config.limits.output_chars);
        let parent = record.parent.id.as_ref();
        let parent = parent.and_then(|id| self.find(id.as_str()));
        let mut word = Some(word);
        if let Some(parent) = parent {
            let mut live = parent.live();
            if live.open {
                live.mail.extend(word.take());
            }
        }
        self.lock().mail.extend(word);
    }

    async fn clear_directory(&self, record: &Record) {
        let directory = record.live().directory.take();
        let (Some(directory), Some(isolator)) = (directory, &self.kit().isolator) else {
            return;
        };
        let kept = isolator.clean_up(&record.id, directory).await;
        let mut live = record.live();
        live.finding.kept.clone_from(&kept);
        live.directory = kept;
    }

    /// What a sub-agent used counts for the one above it too, in the result that it hands back.
    fn charge_parent(&self, record: &Record, finding: &Finding) {
        let parent = record.parent.id.as_ref();
        if let Some(parent) = parent.and_then(|id| self.find(id.as_str())) {
            parent.live().below += finding.totals;
        }
    }

    /// A sub-agent that did not get to its first turn is as if it had never been asked for.
    pub(super) async fn forget(&self, record: &Arc<Record>, why: &str) -> String {
        close_servers(record).await;
        self.clear_directory(record).await;
        {
            let mut inner = self.lock();
            inner.admission.release(&record.id);
            inner.records.retain(|known| known.id != record.id);
        }
        // Whoever has stopped it waits for this.
        record.view.send_modify(|view| {
            view.status = SubAgentStatus::Failed;
            view.settled = true;
        });
        why.to_owned()
    }

    /// A sub-agent could not be taken up again.
    pub(super) async fn undo(&self, record: &Arc<Record>, finding: Finding) {
        close_servers(record).await;
        self.lock().admission.release(&record.id);
        {
            let mut live = record.live();
            live.finding = finding;
            live.told = true;
            // Whoever writes to it next tries again; what was queued meanwhile waits for that.
            live.open = false;
        }
        record.view.send_modify(|view| {
            view.status = SubAgentStatus::Failed;
            view.settled = true;
        });
        record.note();
        self.stir();
    }
}

/// Ends the servers that were the sub-agent's own.
async fn close_servers(record: &Record) {
    let servers = record.live().servers.take();
    if let Some(servers) = servers {
        servers.close().await;
    }
}

/// The whole result, for whoever wants more of it than fits a conversation.
fn write_result(record: &Record, finding: &Finding) {
    let mut text = finding.text.clone();
    if let Some(error) = &finding.error {
        text = format!("[failed: {error}]\n{text}");
    }
    if let Err(error) = replace_alone(&record.output(), text.as_bytes()) {
        tracing::warn!(agent = %record.id, %error, "the result of a sub-agent was not written");
    }
}

/// Whether a message is the word of a command's end, which concerns nobody but the sub-agent that ends.
fn is_of_command(id: &MessageId) -> bool {
    BackgroundCommands::is_command(id.as_str())
}
