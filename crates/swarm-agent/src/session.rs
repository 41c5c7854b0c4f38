//! One conversation of one agent.

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;

use parking_lot::Mutex;
use swarm_model::{ContentBlock, StoredMessage};
use swarm_os::SyncHandle;
use swarm_protocol::{AgentEvent, MessageId, Usage};
use swarm_tools::Caller;

use crate::compaction::{Meter, Recent};
use crate::environment::{CHANGED, EnvironmentNews};
use crate::fork::{Head, Origin};
use crate::history::{History, INTERRUPTED, error_result};
use crate::instructions::{Instructions, News};
use crate::tool_search::defer;
use crate::transcript::{Entry, TranscriptAuthor};
use crate::turn::Noted;
use crate::{AgentError, AgentParts, Delivery, Injected, Totals, TranscriptFile};

/// A conversation: its transcript, what was said, and the agent that carries it on.
///
/// The future of [`Session::run_turn`] is ended by its token. One that is dropped instead leaves a transcript that
/// the next opening repairs, and a session that must not be used again.
#[derive(Debug)]
pub struct Session {
    pub(crate) parts: AgentParts,
    pub(crate) head: Head,
    pub(crate) history: History,
    transcript: TranscriptFile,
    delivered: HashSet<MessageId>,
    /// Those of them that are in the file and perhaps not yet on disk.
    pending: Vec<MessageId>,
    /// The disk has failed: everything is waited for until it has kept a line again.
    is_wary: bool,
    totals: Totals,
    /// The model's last message as another program numbered it: its usage stands on each of its lines.
    last_message: Option<String>,
    /// What the agent has been told of instruction files.
    pub(crate) instructions: Option<Instructions>,
    /// What the agent knows about its environment.
    environment: Option<EnvironmentNews>,
    /// Files that the calls of this step have touched.
    pub(crate) touched: Mutex<Vec<PathBuf>>,
    /// Why a hook ends the turn.
    pub(crate) halted: Mutex<Option<String>>,
    /// Events whose hooks run at the next opportunity.
    pub(crate) noted: Mutex<Vec<Noted>>,
    /// How full the context window is.
    pub(crate) meter: Meter,
    /// What a compaction attaches again.
    pub(crate) recent: Recent,
    /// What requests without an answer used, until the end of their turn is written down.
    pub(crate) unanswered: Usage,
    /// Output limit of the last request.
    pub(crate) asked_output: u32,
    /// The conversation could not be compacted in this turn.
    pub(crate) is_not_compacted: bool,
}

impl Session {
    /// Carries on a transcript. A call whose result is missing, because a crash came in between, gets an error
    /// result that says so.
    ///
    /// # Errors
    /// [`AgentError::DuplicateTool`], and [`AgentError::Transcript`] when the repair cannot be written.
    pub fn open(transcript: TranscriptFile, mut parts: AgentParts) -> Result<Self, AgentError> {
        let defers = parts.model.defers_tools() && defer(&mut parts.tools);
        let head = Head::of(&parts.system, &parts.tools, defers)?;
        Self::with_head(transcript, parts, head)
    }

    /// Begins a conversation where that of another agent stands, or carries such a one on. What was said before is
    /// written into its transcript, so that it can be read and taken up without the other's.
    pub(crate) fn fork(
        transcript: TranscriptFile,
        parts: AgentParts,
        origin: &Origin,
    ) -> Result<Self, AgentError> {
        let mut session = Self::with_head(transcript, parts, origin.head.clone())?;
        if session.history.is_empty() {
            session.inherit(&origin.messages)?;
        }
        Ok(session)
    }

    fn with_head(
        mut transcript: TranscriptFile,
        parts: AgentParts,
        head: Head,
    ) -> Result<Self, AgentError> {
        let entries = transcript.take_entries();
        let sources = parts.instructions.clone();
        let mut session = Self {
            asked_output: parts.limits.max_output_tokens,
            is_not_compacted: false,
            instructions: sources
                .map(|sources| Instructions::new(sources, &parts.tool_context.cwd)),
            environment: (parts.environment.clone())
                .map(|environment| EnvironmentNews::new(environment, parts.brief.clone())),
            touched: Mutex::default(),
            head,
            parts,
            history: History::default(),
            transcript,
            delivered: HashSet::new(),
            pending: Vec::new(),
            is_wary: false,
            totals: Totals::default(),
            last_message: None,
            halted: Mutex::default(),
            noted: Mutex::default(),
            unanswered: Usage::default(),
            meter: Meter::default(),
            recent: Recent::default(),
        };
        for entry in entries {
            session.take(entry);
        }
        session.repair()?;
        Ok(session)
    }

    /// Makes input part of the conversation; on return it is on disk. Messages that are there already are not added
    /// again.
    ///
    /// # Errors
    /// [`AgentError::Transcript`]; nothing was delivered then.
    pub fn deliver(&mut self, input: Vec<Injected>) -> Result<Delivery, AgentError> {
        let (delivery, entry) = self.sort(input);
        match entry {
            Some(entry) => {
                if let Err(error) = self.append(entry) {
                    self.forget_told();
                    return Err(error);
                }
            }
            // What is known may be on its way to the disk.
            None => self.flush()?,
        }
        Ok(delivery)
    }

    /// The same without the wait for the disk, which [`Session::sync_handle`] tells of: a request for an answer can be on its
    /// way meanwhile. Only for messages, which come again where the disk fails, and not after it has failed.
    pub(crate) fn begin_delivery(&mut self, input: Vec<Injected>) -> Result<Delivery, AgentError> {
        let comes_again = |piece: &Injected| !piece.message_ids.is_empty();
        if self.is_wary || !input.iter().all(comes_again) {
            return self.deliver(input);
        }
        let (delivery, entry) = self.sort(input);
        if let Some(entry) = entry {
            let begun = self
                .flush()
                .and_then(|()| self.transcript.begin(std::slice::from_ref(&entry)));
            if let Err(error) = begun {
                self.forget_told();
                return Err(error);
            }
            self.pending.clone_from(&delivery.added);
            self.take(entry);
        }
        Ok(delivery)
    }

    /// Waits for the disk where something was begun that nobody has waited for. Messages that it could not keep count as
    /// not delivered.
    ///
    /// # Errors
    /// [`AgentError::Transcript`], once.
    pub fn flush(&mut self) -> Result<(), AgentError> {
        let begun = std::mem::take(&mut self.pending);
        let settled = self.transcript.sync();
        if settled.is_err() {
            self.is_wary = true;
            for id in &begun {
                self.delivered.remove(id);
            }
        }
        settled
    }

    /// The wait for what was submitted last: messages may be acknowledged once it is over. `None` where everything is on
    /// disk.
    pub fn sync_handle(&self) -> Option<SyncHandle> {
        self.transcript.sync_handle()
    }

    /// Tells input that is new from what the transcript has, and makes a line of it if there is any. Instructions that
    /// the model has not read stand in front of it.
    fn sort(&mut self, input: Vec<Injected>) -> (Delivery, Option<Entry>) {
        let mut delivery = Delivery::default();
        let mut content = Vec::with_capacity(input.len());
        for piece in input {
            let (known, fresh): (Vec<_>, Vec<_>) = piece
                .message_ids
                .into_iter()
                .partition(|id| self.has_message(id) || delivery.added.contains(id));
            if !fresh.is_empty() || known.is_empty() {
                content.push(readable(piece.text));
            }
            delivery.added.extend(fresh);
            delivery.known.extend(known);
        }
        if !content.is_empty() {
            let news = [self.new_instructions(), self.new_environment()];
            let news = news.into_iter().flatten().map(ContentBlock::text);
            content.splice(0..0, news);
        }
        let entry = (!content.is_empty()).then(|| Entry::User {
            content,
            message_ids: delivery.added.clone(),
            repaired: false,
        });
        (delivery, entry)
    }

    fn new_instructions(&mut self) -> Option<String> {
        let mut instructions = self.instructions.take()?;
        let is_first = self.history.is_empty();
        let news = instructions.news(is_first, |text| self.history.says(text));
        self.instructions = Some(instructions);
        self.show_instructions(news)
    }

    fn new_environment(&mut self) -> Option<String> {
        let history = &self.history;
        let environment = self.environment.as_mut()?;
        environment.news(|| history.texts_from(CHANGED))
    }

    /// Instructions that apply to the files that calls have touched since the last look.
    pub(crate) fn instructions_for_touched(&mut self) -> Option<String> {
        let paths = std::mem::take(self.touched.get_mut());
        let mut instructions = self.instructions.take()?;
        let news = (!paths.is_empty())
            .then(|| instructions.touched(&paths, |text| self.history.says(text)));
        self.instructions = Some(instructions);
        self.show_instructions(news.flatten())
    }

    pub(crate) fn show_instructions(&self, news: Option<News>) -> Option<String> {
        let news = news?;
        for line in news.notices {
            self.emit(AgentEvent::Notice { line });
        }
        news.text
    }

    pub(crate) fn forget_told(&mut self) {
        if let Some(instructions) = &mut self.instructions {
            instructions.forget();
        }
        if let Some(environment) = &mut self.environment {
            environment.forget();
        }
    }

    /// Whether the agent gets instruction files.
    pub(crate) fn has_instructions(&self) -> bool {
        self.instructions.is_some()
    }

    /// Whether a message is in the transcript already and only has to be acknowledged.
    pub fn has_message(&self, id: &MessageId) -> bool {
        self.delivered.contains(id)
    }

    /// Whether the transcript ends in a user message to which no turn has come to an end: input was delivered, or a
    /// crash came before the answer. A turn that was interrupted, failed or reached its limit has come to an end;
    /// [`Session::run_turn`] takes it up again all the same when it is called.
    pub fn needs_turn(&self) -> bool {
        self.history.is_open()
    }

    /// The last text of the model, if there is one.
    pub fn last_text(&self) -> Option<String> {
        let messages = self.history.for_model();
        let answers = messages.iter().rev();
        let mut answers = answers.filter(|message| message.role == swarm_model::Role::Assistant);
        answers.find_map(|message| {
            let blocks = message.message().content.into_iter();
            let texts = blocks.filter_map(|block| match block {
                ContentBlock::Text { text } => Some(text),
                _ => None,
            });
            let text = texts.collect::<Vec<_>>().join("\n\n");
            (!text.trim().is_empty()).then_some(text)
        })
    }

    /// Whether anything was said yet.
    pub fn is_begun(&self) -> bool {
        !self.history.is_empty()
    }

    /// What the whole conversation has used, former processes included.
    pub fn totals(&self) -> Totals {
        self.totals
    }

    /// The transcript.
    pub fn transcript(&self) -> &TranscriptFile {
        &self.transcript
    }

    /// What the agent is made of.
    pub fn parts(&self) -> &AgentParts {
        &self.parts
    }

    /// Tells tools and transcript of a team that the agent has joined or left since the session was opened.
    pub fn set_caller(&mut self, caller: Caller) {
        let author = TranscriptAuthor {
            agent: Some(caller.name.clone()),
            team: caller.team.clone(),
            ..self.transcript.author().clone()
        };
        self.transcript.set_author(author);
        self.parts.tool_context.caller = caller;
    }

    /// Writes a line, and makes it part of the conversation once it is on disk. A synced append takes about a
    /// millisecond, so it is done where it stands.
    pub(crate) fn append(&mut self, entry: Entry) -> Result<(), AgentError> {
        self.flush()?;
        let appended = self.transcript.append(&entry);
        self.is_wary = appended.is_err();
        appended?;
        self.take(entry);
        Ok(())
    }

    fn inherit(&mut self, messages: &[Arc<StoredMessage>]) -> Result<(), AgentError> {
        let entries: Vec<Entry> = messages.iter().cloned().map(Entry::Inherited).collect();
        self.flush()?;
        self.transcript.append_all(&entries)?;
        for entry in entries {
            self.take(entry);
        }
        Ok(())
    }

    /// Makes a line part of the conversation although it could not be written: the next opening sees a turn that was
    /// cut, which is what a full disk makes of it anyway.
    pub(crate) fn take(&mut self, entry: Entry) {
        self.meter.take(&entry);
        match &entry {
            Entry::User { message_ids, .. } => self.delivered.extend(message_ids.iter().cloned()),
            Entry::Assistant {
                content, usage, id, ..
            } => {
                let calls = content
                    .iter()
                    .filter(|block| matches!(block, ContentBlock::ToolUse { .. }));
                for call in calls {
                    self.totals.tool_calls += 1;
                    self.recent.note(call);
                }
                if id.is_none() || *id != self.last_message {
                    self.totals.requests += 1;
                    self.totals.usage += *usage;
                }
                self.last_message.clone_from(id);
            }
            Entry::TurnEnd { usage, .. } => self.totals.usage += *usage,
            Entry::Compacted(compaction) => {
                if let Some(environment) = &mut self.environment {
                    environment.forget();
                }
                self.totals.usage += compaction.usage;
                self.totals.requests += 1;
            }
            Entry::Cleared(_) => {}
            Entry::Inherited(message) => {
                for call in message
                    .blocks
                    .iter()
                    .filter(|block| block.call_id().is_some())
                {
                    self.recent.note(&call.block());
                }
            }
        }
        self.history.take(entry);
    }

    /// Counts requests without an answer whose turn leaves no line; the next process does not know of them.
    pub(crate) fn count_unanswered(&mut self) {
        let usage = std::mem::take(&mut self.unanswered);
        self.totals.usage += usage;
    }

    pub(crate) fn emit(&self, event: AgentEvent) {
        self.parts.events.emit(event);
    }

    fn repair(&mut self) -> Result<(), AgentError> {
        let cut = self.history.unanswered();
        if cut.is_empty() {
            return Ok(());
        }
        tracing::warn!(session = %self.transcript.author().session, calls = cut.len(), "answered tool calls that a crash had cut");
        self.append(Entry::User {
            content: cut.iter().map(|id| error_result(id, INTERRUPTED)).collect(),
            message_ids: Vec::new(),
            repaired: true,
        })
    }
}

/// A message counts even if it says nothing, and the model server refuses empty texts.
fn readable(text: String) -> ContentBlock {
    if text.trim().is_empty() {
        ContentBlock::text("(an empty message)")
    } else {
        ContentBlock::text(text)
    }
}
