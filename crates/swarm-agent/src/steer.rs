//! Changes that a person makes to a conversation between two turns.

use std::sync::Arc;

use swarm_model::{ContentBlock, Message};
use swarm_protocol::{AgentEvent, RewindScope, Usage};
use swarm_tools::{ChangedFile, Restoration};

use crate::compaction::Recent;
use crate::transcript::{CompactTrigger, Compaction, Entry};
use crate::{AgentError, ReadyModel, Result, RewindPoints, Session, SessionLimits};

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
    pub fn clear(&mut self) -> Result<()> {
        let message = Message::user(vec![ContentBlock::text(CLEARED)]);
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
        self.notice("conversation cleared".to_owned());
        self.emit_context();
        Ok(())
    }

    /// Returns the conversation, the files, or both to the state before a line of the transcript.
    /// The transcript keeps its later lines, but they are no longer read. Messages from other agents
    /// in those lines stay in the conversation. A file that somebody else has changed stays as it
    /// is. Returns the files.
    ///
    /// # Errors
    /// [`AgentError::NotRewound`] if the conversation has no such line, and
    /// [`AgentError::Transcript`]; the conversation is unchanged then.
    pub fn rewind(&mut self, line: &str, scope: RewindScope) -> Result<Vec<ChangedFile>> {
        self.flush()?;
        let files = if scope.has_files() {
            self.restore_files(line)?
        } else {
            Vec::new()
        };
        if scope.has_conversation() {
            let entries = self.transcript_mut().rewind(line)?;
            self.replace(entries);
            self.notice("conversation rewound".to_owned());
            self.emit_context();
        }
        Ok(files)
    }

    /// Gives the files that were changed after a line their earlier contents.
    fn restore_files(&self, line: &str) -> Result<Vec<ChangedFile>> {
        let transcript = self.transcript().path();
        let failed = |source| AgentError::Transcript {
            path: transcript.to_owned(),
            source,
        };
        let points = RewindPoints::open(transcript).map_err(failed)?;
        let mut points = points.points().iter();
        let Some(point) = points.find(|point| point.line == line) else {
            return Err(AgentError::NotRewound(line.to_owned()));
        };
        let context = self.call_context();
        let Some(history) = &context.history else {
            return Ok(Vec::new());
        };
        let files = history.restore(point.position, &context).map_err(failed)?;
        for file in &files {
            let path = file.path.strip_prefix(&context.cwd).unwrap_or(&file.path);
            let path = path.display();
            self.notice(match &file.restoration {
                Restoration::Replace => format!("restored {path}"),
                Restoration::Remove => format!("removed {path}, which did not exist"),
                Restoration::Keep(why) => format!("not restored: {path} ({why})"),
            });
        }
        Ok(files)
    }
}
