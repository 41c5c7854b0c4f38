//! Changes that a person makes to a conversation between two turns.

use std::sync::Arc;

use swarm_model::{ContentBlock, Message, Role};
use swarm_protocol::{AgentEvent, Usage};

use crate::compaction::Recent;
use crate::transcript::{CompactTrigger, Compaction, Entry};
use crate::{AgentError, ReadyModel, Session, SessionLimits};

/// Replaces the cleared conversation for the model.
const CLEARED: &str = "[The user cleared the conversation: what was said before is gone.]";

impl Session {
    /// Switches to another model from the next request on. Sub-agents whose definition names no
    /// model keep the previous one.
    pub fn use_model(&mut self, model: ReadyModel) {
        let limits = &mut self.parts.limits;
        limits.window = model.window;
        limits.max_output_tokens = model.max_output.unwrap_or(SessionLimits::USUAL_OUTPUT);
        self.parts.model = model.client;
        self.parts.model_name.clone_from(&model.name);
        self.emit(AgentEvent::ModelChanged { model: model.name });
    }

    /// Clears the conversation in the same file. Earlier messages stay in the file but are not read
    /// again.
    ///
    /// # Errors
    /// [`AgentError::Transcript`]; the conversation is unchanged then.
    pub fn clear(&mut self) -> Result<(), AgentError> {
        let message = Message {
            role: Role::User,
            content: vec![ContentBlock::text(CLEARED)],
        };
        let before = self.meter.tokens();
        self.append(Entry::Compacted(Compaction {
            trigger: CompactTrigger::Manual,
            pre_tokens: before,
            usage: self.unanswered,
            open: false,
            messages: vec![Arc::new(message.into())],
        }))?;
        self.unanswered = Usage::default();
        self.recent = Recent::default();
        self.forget_announced();
        self.emit(AgentEvent::Notice {
            line: "conversation cleared".to_owned(),
        });
        self.emit_context();
        Ok(())
    }

    /// Returns the conversation to the state before a line of the transcript, which keeps its later
    /// lines but no longer reads them. Messages from other agents in those lines stay in the
    /// conversation.
    ///
    /// # Errors
    /// [`AgentError::NotRewound`] if the conversation has no such line, and
    /// [`AgentError::Transcript`]; the conversation is unchanged then.
    pub fn rewind(&mut self, line: &str) -> Result<(), AgentError> {
        self.flush()?;
        let entries = self.transcript_mut().rewind(line)?;
        self.replace(entries);
        self.emit(AgentEvent::Notice {
            line: "conversation rewound".to_owned(),
        });
        self.emit_context();
        Ok(())
    }
}
