//! Background sub-agents: start, notification and shutdown.

use std::sync::Arc;
use std::time::Duration;

use swarm_permissions::{AgentCatalog, AgentLimits};
use swarm_protocol::{AgentEvent, MessageId, SubAgentId};
use swarm_tools::BackgroundCommands;

use super::notification::{command_ended, command_outcome, message_id, notification};
use super::record::{Record, StoppedBy};
use super::{ReadyModel, SubAgents};
use crate::{Injected, Result, Session};

impl SubAgents {
    pub(crate) fn limits(&self) -> &AgentLimits {
        &self.kit().agent_config.limits
    }

    /// Sets the model that sub-agents started from now on inherit.
    pub fn use_model(&self, model: &ReadyModel) {
        self.lock().model = Some(model.clone());
    }

    /// Returns whether the agent of the process is a coordinator with workers.
    pub(crate) fn coordinates(&self) -> bool {
        self.kit().agent_config.coordinator
    }

    pub(crate) fn catalog(&self) -> &AgentCatalog {
        &self.kit().agent_config.agents
    }

    /// Moves foreground sub-agents to the background, so that their parents continue: the given
    /// one, or all whose parent is the agent of the process. Returns how many were moved.
    pub fn send_to_background(&self, only: Option<&SubAgentId>) -> usize {
        let records = self.lock().records.clone();
        let mut moved = 0;
        for record in records {
            let is_meant = match only {
                Some(id) => record.id == *id,
                None => record.parent.id.is_none(),
            };
            let has_moved = is_meant
                && record.view.send_if_modified(|view| {
                    let was_waited_for = !view.background && !view.settled;
                    view.background |= was_waited_for;
                    was_waited_for
                });
            if has_moved {
                record.note();
                moved += 1;
            }
        }
        if moved > 0 {
            self.notify_changed();
        }
        moved
    }

    /// Returns the names of background sub-agents.
    pub fn background(&self) -> Vec<String> {
        let records = self.in_background();
        records.iter().map(|record| record.name.clone()).collect()
    }

    /// Returns the running background commands of the process's agent.
    pub fn commands(&self) -> Vec<String> {
        let running = self.kit().commands.running();
        running.iter().map(|command| command.one_line()).collect()
    }

    pub(super) fn show_commands(&self) {
        if let Ok(root) = self.root() {
            let running = self.commands();
            root.events.emit(AgentEvent::Commands { running });
        }
    }

    /// Returns whether the agent of the process has something to wait for: a background sub-agent
    /// runs, or a notification is pending. A running command does not count, because it may be a
    /// server.
    pub fn is_busy(&self) -> bool {
        // Checked in this order, because the notification is queued before the sub-agent stops
        // being busy.
        !self.in_background().is_empty()
            || !self.lock().mail.is_empty()
            || self.kit().commands.has_unreported()
    }

    /// Delivers pending notifications to the conversation of the process's agent. Returns whether
    /// there were any.
    ///
    /// # Errors
    /// [`crate::AgentError::Transcript`]; the notifications stay pending then.
    pub fn deliver_to(&self, session: &mut Session) -> Result<bool> {
        let ended = self.take_notifications();
        if ended.is_empty() {
            return Ok(false);
        }
        match session.deliver(ended.clone()) {
            Ok(delivery) => {
                self.mark_delivered(&delivery.added);
                self.mark_delivered(&delivery.known);
                Ok(!delivery.added.is_empty())
            }
            Err(error) => {
                self.lock().mail.splice(0..0, ended);
                Err(error)
            }
        }
    }

    /// Takes the notifications for the process's agent since the last call.
    pub(super) fn take_notifications(&self) -> Vec<Injected> {
        let (mail, past) = {
            let mut inner = self.lock();
            (
                std::mem::take(&mut inner.mail),
                std::mem::take(&mut inner.past),
            )
        };
        let commands = self.kit().commands.take_unreported();
        if let Ok(root) = self.root() {
            for event in past {
                root.events.emit(event);
            }
            for command in &commands {
                let line = format!("{} {}", command.id(), command_outcome(command));
                root.events.emit(AgentEvent::Notice { line });
            }
        }
        let chars = self.limits().output_chars;
        mail.into_iter()
            .chain(commands.iter().map(|command| command_ended(command, chars)))
            .collect()
    }

    /// Records that the process's agent is about to receive a result, so that the notification does
    /// not repeat it.
    pub(super) fn mark_retrieved(&self, record: &Record) {
        if record.parent.id.is_some() {
            return;
        }
        {
            let mut live = record.live();
            live.handed_out = live.runs;
        }
        let notice = notification(record, self.limits().output_chars);
        let mut inner = self.lock();
        let mut waiting = inner.mail.iter_mut();
        if let Some(waiting) = waiting.find(|waits| waits.message_ids == notice.message_ids) {
            *waiting = notice;
        }
    }

    /// Returns whether a message is a notification of a sub-agent or command.
    pub(super) fn is_notification(&self, id: &MessageId) -> bool {
        BackgroundCommands::is_command(id.as_str()) || self.of_notification(id).is_some()
    }

    /// Records that these notifications are in a durable transcript. Other ids are ignored.
    pub(super) fn mark_delivered(&self, ids: &[MessageId]) {
        for id in ids {
            if let Some(record) = self.of_notification(id) {
                record.live().notified = true;
                record.note();
            }
        }
    }

    fn of_notification(&self, id: &MessageId) -> Option<Arc<Record>> {
        let records = self.lock().records.clone();
        records.into_iter().find(|record| message_id(record) == *id)
    }

    /// Stops all sub-agents and background commands because the process ends. The next process
    /// reports interrupted background sub-agents. Returns after `within` at the latest.
    pub async fn shut_down(&self, within: Duration) {
        let commands = self.kit().commands.shut_down(within);
        tokio::join!(commands, self.shut_down_agents(within));
    }

    async fn shut_down_agents(&self, within: Duration) {
        let records = self.lock().records.clone();
        for record in &records {
            if !record.view().settled {
                record.stop(StoppedBy::Process);
            }
        }
        let all = async {
            for record in &records {
                record.until(|view| view.settled).await;
            }
        };
        if tokio::time::timeout(within, all).await.is_err() {
            tracing::warn!("sub-agents did not stop in time");
        }
    }
}

impl Record {
    /// Stops the sub-agent because its parent's turn has ended.
    pub(crate) fn parent_left(&self) {
        self.stop(StoppedBy::Parent);
    }
}
