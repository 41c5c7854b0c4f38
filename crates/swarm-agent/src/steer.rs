//! What a person changes about a conversation between two turns.

use std::sync::Arc;

use swarm_model::{ContentBlock, Message, Role};
use swarm_protocol::{AgentEvent, Usage};

use crate::compaction::Recent;
use crate::transcript::{CompactTrigger, Compaction, Entry};
use crate::{AgentError, ReadyModel, Session, SessionLimits};

/// What the model reads in the place of what was said before.
const CLEARED: &str = "[The user cleared the conversation: what was said before is gone.]";

impl Session {
    /// Has another model answer from the next request on. Sub-agents that name no model keep the one before.
    pub fn use_model(&mut self, model: ReadyModel) {
        let limits = &mut self.parts.limits;
        limits.window = model.window;
        limits.max_output_tokens = model.max_output.unwrap_or(SessionLimits::USUAL_OUTPUT);
        self.parts.model = model.client;
        self.parts.model_name.clone_from(&model.name);
        self.emit(AgentEvent::ModelChanged { model: model.name });
    }

    /// Begins the conversation anew, in the same file: what was said before stays there and is not read again.
    ///
    /// # Errors
    /// [`AgentError::Transcript`]; the conversation is what it was then.
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
        self.forget_told();
        self.emit(AgentEvent::Notice {
            line: "conversation cleared".to_owned(),
        });
        self.emit_context();
        Ok(())
    }
}
