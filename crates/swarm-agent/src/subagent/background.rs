//! Sub-agents beside their parent: how they get there, how they are heard of, and how they are ended.

use std::sync::Arc;
use std::time::Duration;

use swarm_permissions::{AgentCatalog, AgentLimits};
use swarm_protocol::{AgentEvent, MessageId, SubAgentId};
use swarm_tools::BackgroundCommands;

use super::notification::{command_ended, command_outcome, message_id, notification};
use super::record::{Record, StoppedBy};
use super::{ReadyModel, SubAgents};
use crate::{AgentError, Injected, Session};

impl SubAgents {
    /// The bounds of sub-agents.
    pub(crate) fn limits(&self) -> &AgentLimits {
        &self.kit().agent_config.limits
    }

    /// Notes that the agent of the process has changed its model: sub-agents that it starts later have this one.
    pub fn use_model(&self, model: &ReadyModel) {
        self.lock().model = Some(model.clone());
    }

    /// Whether the agent of the process is a coordinator and its sub-agents are workers.
    pub(crate) fn coordinates(&self) -> bool {
        self.kit().agent_config.coordinator.is_some()
    }

    /// What sub-agents there may be.
    pub(crate) fn catalog(&self) -> &AgentCatalog {
        &self.kit().agent_config.agents
    }

    /// Lets the parents of sub-agents in the foreground go on: of this one, or of all whose parent is the agent of the
    /// process. Gives how many.
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
            self.stir();
        }
        moved
    }

    /// Names of the sub-agents that work in the background.
    pub fn background(&self) -> Vec<String> {
        let records = self.in_background();
        records.iter().map(|record| record.name.clone()).collect()
    }

    /// The commands that the agent of the process has running in the background.
    pub fn commands(&self) -> Vec<String> {
        let running = self.kit().commands.running();
        running.iter().map(|command| command.one_line()).collect()
    }

    /// Reports the commands that run.
    pub(super) fn show_commands(&self) {
        if let Ok(root) = self.root() {
            let running = self.commands();
            root.events.emit(AgentEvent::Commands { running });
        }
    }

    /// Whether the agent of the process has something to wait for: a sub-agent works in the background, or the word of
    /// its end or of a command's was not taken yet. A command that runs may be a server, for whose end nobody waits.
    pub fn is_busy(&self) -> bool {
        // In this order: the word is there before it is said that the work is over.
        !self.in_background().is_empty()
            || !self.lock().mail.is_empty()
            || self.kit().commands.has_unreported()
    }

    /// Takes the ends of sub-agents and commands into the conversation of the agent of the process; tells whether there were any.
    ///
    /// # Errors
    /// [`AgentError::Transcript`]; they come again then.
    pub fn deliver_to(&self, session: &mut Session) -> Result<bool, AgentError> {
        let ended = self.take_notifications();
        if ended.is_empty() {
            return Ok(false);
        }
        match session.deliver(ended.clone()) {
            Ok(delivery) => {
                self.told(&delivery.added);
                self.told(&delivery.known);
                Ok(!delivery.added.is_empty())
            }
            Err(error) => {
                self.lock().mail.splice(0..0, ended);
                Err(error)
            }
        }
    }

    /// Takes the words to the agent of the process that have come since the last call.
    pub(super) fn take_notifications(&self) -> Vec<Injected> {
        let (mail, past) = {
            let mut inner = self.lock();
            (
                std::mem::take(&mut inner.mail),
                std::mem::take(&mut inner.past),
            )
        };
        if let Ok(root) = self.root() {
            for event in past {
                root.events.emit(event);
            }
        }
        let commands = self.kit().commands.take_unreported();
        if let Ok(root) = self.root() {
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

    /// Notes that the agent of the process is about to read a result, so that the word of the end does not repeat it.
    pub(super) fn hand_out(&self, record: &Record) {
        if record.parent.id.is_some() {
            return;
        }
        {
            let mut live = record.live();
            live.handed_out = live.runs;
        }
        let word = notification(record, self.limits().output_chars);
        let mut inner = self.lock();
        let mut waiting = inner.mail.iter_mut();
        if let Some(waiting) = waiting.find(|waits| waits.message_ids == word.message_ids) {
            *waiting = word;
        }
    }

    /// Whether a message is the word of a sub-agent's end.
    pub(super) fn is_notification(&self, id: &MessageId) -> bool {
        BackgroundCommands::is_command(id.as_str()) || self.of_notification(id).is_some()
    }

    /// Notes that these words are in a durable transcript. Ids of other messages are passed over.
    pub(super) fn told(&self, ids: &[MessageId]) {
        for id in ids {
            if let Some(record) = self.of_notification(id) {
                record.live().told = true;
                record.note();
            }
        }
    }

    fn of_notification(&self, id: &MessageId) -> Option<Arc<Record>> {
        let records = self.lock().records.clone();
        records.into_iter().find(|record| message_id(record) == *id)
    }

    /// Ends every sub-agent and every command in the background, because the process ends. Sub-agents in the background are
    /// told of when the conversation is carried on. Returns after `within` at the latest.
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
            tracing::warn!("sub-agents did not end in time");
        }
    }
}

impl Record {
    /// The parent's turn ended before it.
    pub(crate) fn parent_left(&self) {
        self.stop(StoppedBy::Parent);
    }
}
