//! A conversation of an agent.

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;

use parking_lot::Mutex;
use swarm_model::{ContentBlock, StoredMessage};
use swarm_os::SyncHandle;
use swarm_protocol::{AgentEvent, MessageId, Usage};
use swarm_tools::{Caller, read_picture};

use crate::compaction::{Meter, Recent};
use crate::environment::{CHANGED, EnvironmentNews};
use crate::fork::{Head, Origin};
use crate::history::{History, INTERRUPTED, error_result};
use crate::instructions::{Instructions, News};
use crate::media_block::image_block;
use crate::tool_search::defer;
use crate::transcript::{Entry, TranscriptAuthor};
use crate::turn::{Noted, Repetition};
use crate::{AgentParts, Delivery, Injected, Result, Totals, TranscriptFile};

/// A conversation: its transcript, its messages in memory, and the components of its agent.
///
/// Cancel [`Session::run_turn`] with its token. Dropping the future instead leaves a transcript
/// that the next [`Session::open`] repairs, and a session that must not be used again.
#[derive(Debug)]
pub struct Session {
    pub(crate) parts: AgentParts,
    pub(crate) head: Head,
    pub(crate) history: History,
    transcript: TranscriptFile,
    delivered: HashSet<MessageId>,
    /// Delivered messages that are in the file but may not be on disk yet.
    pending: Vec<MessageId>,
    /// The disk has failed: every write is synced before use until one has succeeded.
    sync_first: bool,
    totals: Totals,
    /// Id of the model's last message, if another program wrote it. Each line of such a message
    /// repeats its usage.
    last_message: Option<String>,
    /// What the conversation contains of instruction files.
    pub(crate) instructions: Option<Instructions>,
    /// What the conversation contains about the environment.
    environment: Option<EnvironmentNews>,
    /// Files that the calls of the current step have touched.
    pub(crate) touched: Mutex<Vec<PathBuf>>,
    /// The reason of a hook that stops the turn.
    pub(crate) halted: Mutex<Option<String>>,
    /// The reason of a `Stop` hook that ended the last turn with `continue: false`.
    pub(crate) stop_reason: Option<String>,
    /// Events whose hooks run at the next opportunity.
    pub(crate) noted: Mutex<Vec<Noted>>,
    pub(crate) meter: Meter,
    /// The current work, which a compaction attaches again.
    pub(crate) recent: Recent,
    /// Usage of requests without a response, until the end of their turn is recorded.
    pub(crate) unanswered: Usage,
    /// Output limit of the last request, in tokens.
    pub(crate) asked_output: u32,
    pub(crate) repetition: Repetition,
    /// Compaction has failed in this turn.
    pub(crate) is_not_compacted: bool,
}

impl Session {
    /// Opens a transcript and continues its conversation. A call whose result is missing because of
    /// a crash gets an error result that says so.
    ///
    /// # Errors
    /// [`crate::AgentError::DuplicateTool`], and [`crate::AgentError::Transcript`] if the repair
    /// cannot be written.
    pub fn open(transcript: TranscriptFile, mut parts: AgentParts) -> Result<Self> {
        let defers = parts.model.defers_tools() && defer(&mut parts.tools);
        let head = Head::of(&parts.system, &parts.tools, defers)?;
        Self::with_head(transcript, parts, head)
    }

    /// Starts or continues a fork of another agent's conversation. The inherited messages are
    /// written into its transcript, so that it can be read and continued without the parent's.
    pub(crate) fn fork(
        transcript: TranscriptFile,
        parts: AgentParts,
        origin: &Origin,
    ) -> Result<Self> {
        let mut session = Self::with_head(transcript, parts, origin.head.clone())?;
        if session.history.is_empty() {
            session.inherit(&origin.messages)?;
        }
        Ok(session)
    }

    fn with_head(mut transcript: TranscriptFile, parts: AgentParts, head: Head) -> Result<Self> {
        let entries = transcript.take_entries();
        let sources = parts.instructions.clone();
        let mut session = Self {
            asked_output: parts.limits.max_output_tokens,
            repetition: Repetition::default(),
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
            sync_first: false,
            totals: Totals::default(),
            last_message: None,
            halted: Mutex::default(),
            stop_reason: None,
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

    /// Adds input to the conversation; it is on disk on return. Messages that are already in the
    /// transcript are not added again.
    ///
    /// # Errors
    /// [`crate::AgentError::Transcript`]; nothing was delivered then.
    pub fn deliver(&mut self, input: Vec<Injected>) -> Result<Delivery> {
        let (delivery, entry) = self.sort(input);
        match entry {
            Some(entry) => {
                if let Err(error) = self.append(entry) {
                    self.forget_announced();
                    return Err(error);
                }
            }
            // Known messages may not be on disk yet.
            None => self.flush()?,
        }
        Ok(delivery)
    }

    /// Delivers input without waiting for the disk ([`Session::sync_handle`] reports it), so that a
    /// model request can start meanwhile. This applies only to messages, which are sent again if
    /// the disk fails, and not after a failure of the disk.
    pub(crate) fn begin_delivery(&mut self, input: Vec<Injected>) -> Result<Delivery> {
        let is_message = |piece: &Injected| !piece.message_ids.is_empty();
        if self.sync_first || !input.iter().all(is_message) {
            return self.deliver(input);
        }
        let (delivery, entry) = self.sort(input);
        if let Some(entry) = entry {
            let begun = self
                .flush()
                .and_then(|()| self.transcript.begin(std::slice::from_ref(&entry)));
            if let Err(error) = begun {
                self.forget_announced();
                return Err(error);
            }
            self.pending.clone_from(&delivery.added);
            self.take(entry);
        }
        Ok(delivery)
    }

    /// Waits for writes that have started. If the disk fails, their messages count as not
    /// delivered.
    ///
    /// # Errors
    /// [`crate::AgentError::Transcript`], once.
    pub fn flush(&mut self) -> Result<()> {
        let begun = std::mem::take(&mut self.pending);
        let synced = self.transcript.sync();
        if synced.is_err() {
            self.sync_first = true;
            for id in &begun {
                self.delivered.remove(id);
            }
        }
        synced
    }

    /// Returns a handle for the last submitted write; its messages may be acknowledged once it
    /// completes. `None` if everything is on disk.
    pub fn sync_handle(&self) -> Option<SyncHandle> {
        self.transcript.sync_handle()
    }

    /// Separates new input from known messages and returns a transcript line for the new input,
    /// preceded by new instructions and environment changes.
    fn sort(&mut self, input: Vec<Injected>) -> (Delivery, Option<Entry>) {
        let mut delivery = Delivery::default();
        let mut content = Vec::with_capacity(input.len());
        for piece in input {
            let (known, fresh): (Vec<_>, Vec<_>) = piece
                .message_ids
                .into_iter()
                .partition(|id| self.has_message(id) || delivery.added.contains(id));
            if !fresh.is_empty() || known.is_empty() {
                content.push(non_empty(piece.text));
                content.extend(piece.images.iter().map(|path| self.image(path)));
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

    /// Returns the image at a path, or why it cannot be shown.
    fn image(&self, path: &str) -> ContentBlock {
        match read_picture(path, &self.parts.tool_context) {
            Ok(picture) => ContentBlock::Other(image_block(&picture)),
            Err(why) => {
                let line = format!("an image was not attached: {why}");
                self.notice(line.clone());
                ContentBlock::text(format!("[{line}]"))
            }
        }
    }

    fn new_instructions(&mut self) -> Option<String> {
        let mut instructions = self.instructions.take()?;
        let is_first = self.history.is_empty();
        let news = instructions.news(is_first, |text| self.history.contains_user_text(text));
        self.instructions = Some(instructions);
        self.show_instructions(news)
    }

    fn new_environment(&mut self) -> Option<String> {
        let history = &self.history;
        let environment = self.environment.as_mut()?;
        environment.news(|| history.texts_from(CHANGED))
    }

    /// Returns new instructions for the files that calls have touched since the last call.
    pub(crate) fn instructions_for_touched(&mut self) -> Option<String> {
        let paths = std::mem::take(self.touched.get_mut());
        let mut instructions = self.instructions.take()?;
        let news = (!paths.is_empty())
            .then(|| instructions.touched(&paths, |text| self.history.contains_user_text(text)));
        self.instructions = Some(instructions);
        self.show_instructions(news.flatten())
    }

    pub(crate) fn show_instructions(&self, news: Option<News>) -> Option<String> {
        let news = news?;
        for line in news.notices {
            self.notice(line);
        }
        news.text
    }

    pub(crate) fn forget_announced(&mut self) {
        if let Some(instructions) = &mut self.instructions {
            instructions.forget();
        }
        if let Some(environment) = &mut self.environment {
            environment.forget();
        }
    }

    /// Returns whether a message is already in the transcript and only has to be acknowledged.
    pub fn has_message(&self, id: &MessageId) -> bool {
        self.delivered.contains(id)
    }

    /// Returns whether the transcript ends with a user message for which no turn has ended: input
    /// was delivered, or a crash came before the response. A turn that was interrupted, failed or
    /// reached its limit has ended; [`Session::run_turn`] continues it anyway.
    pub fn needs_turn(&self) -> bool {
        self.history.is_open()
    }

    /// Returns the last text of the model, if any.
    pub fn last_text(&self) -> Option<String> {
        let messages = self.history.for_model();
        let answers = messages.iter().rev();
        let mut answers = answers.filter(|message| message.role == swarm_model::Role::Assistant);
        answers.find_map(|message| {
            let content = message.message().content;
            let texts = content.iter().filter_map(ContentBlock::as_text);
            let text = texts.collect::<Vec<_>>().join("\n\n");
            (!text.trim().is_empty()).then_some(text)
        })
    }

    /// Returns whether the conversation has any message.
    pub fn is_begun(&self) -> bool {
        !self.history.is_empty()
    }

    /// Returns the usage of the whole conversation, including earlier processes.
    pub fn totals(&self) -> Totals {
        self.totals
    }

    /// Returns the reason of a hook that stopped the agent before its next turn.
    pub fn halted(&self) -> Option<String> {
        self.halted.lock().clone()
    }

    /// Returns the reason of a `Stop` hook that ended the last turn with `continue: false`.
    pub fn stop_reason(&self) -> Option<&str> {
        self.stop_reason.as_deref()
    }

    /// Returns the transcript.
    pub fn transcript(&self) -> &TranscriptFile {
        &self.transcript
    }

    /// Returns the components of the agent.
    pub fn parts(&self) -> &AgentParts {
        &self.parts
    }

    /// Updates tools and transcript after the agent has joined or left a team.
    pub fn set_caller(&mut self, caller: Caller) {
        let author = TranscriptAuthor {
            agent: Some(caller.name.clone()),
            team: caller.team.clone(),
            ..self.transcript.author().clone()
        };
        self.transcript.set_author(author);
        self.parts.tool_context.caller = caller;
    }

    /// Appends a line to the transcript and, once it is on disk, to the conversation. A synced
    /// append takes about a millisecond, so it runs inline.
    pub(crate) fn append(&mut self, entry: Entry) -> Result<()> {
        self.flush()?;
        let appended = self.transcript.append(&entry);
        self.sync_first = appended.is_err();
        appended?;
        self.take(entry);
        Ok(())
    }

    fn inherit(&mut self, messages: &[Arc<StoredMessage>]) -> Result<()> {
        let entries: Vec<Entry> = messages.iter().cloned().map(Entry::Inherited).collect();
        self.flush()?;
        self.transcript.append_all(&entries)?;
        for entry in entries {
            self.take(entry);
        }
        Ok(())
    }

    /// Adds a line to the conversation, even if it could not be written: the next opening then sees
    /// an unfinished turn, as after any full disk.
    pub(crate) fn take(&mut self, entry: Entry) {
        self.meter.take(&entry);
        self.count(&entry);
        match &entry {
            Entry::User { content, .. } | Entry::Assistant { content, .. } => {
                for block in content {
                    self.recent.record(block);
                }
            }
            Entry::Compacted(_) => {
                if let Some(environment) = &mut self.environment {
                    environment.forget();
                }
            }
            Entry::Inherited(message) => {
                for block in &message.blocks {
                    let result = block.result_id();
                    if block.call_id().is_some()
                        || result.is_some_and(|id| self.recent.needs_result(id))
                    {
                        self.recent.record(&block.block());
                    }
                }
            }
            Entry::Cleared(_) | Entry::Rewound(_) | Entry::TurnEnd { .. } => {}
        }
        self.history.take(entry);
    }

    /// Counts what an entry used and delivered, also if a rewind drops it.
    fn count(&mut self, entry: &Entry) {
        match entry {
            Entry::User { message_ids, .. } => self.delivered.extend(message_ids.iter().cloned()),
            Entry::Assistant {
                content, usage, id, ..
            } => {
                let calls = content
                    .iter()
                    .filter(|block| matches!(block, ContentBlock::ToolUse { .. }));
                self.totals.tool_calls += calls.count() as u64;
                if id.is_none() || *id != self.last_message {
                    self.totals.requests += 1;
                    self.totals.usage += *usage;
                }
                self.last_message.clone_from(id);
            }
            Entry::TurnEnd { usage, .. } => self.totals.usage += *usage,
            Entry::Compacted(compaction) => {
                self.totals.usage += compaction.usage;
                self.totals.requests += 1;
            }
            Entry::Rewound(rewind) => {
                for dropped in &rewind.dropped {
                    self.count(dropped);
                }
            }
            Entry::Cleared(_) | Entry::Inherited(_) => {}
        }
    }

    /// Replaces the conversation by these entries of the transcript.
    pub(crate) fn replace(&mut self, entries: Vec<Entry>) {
        let totals = self.totals;
        self.history = History::default();
        self.meter = Meter::default();
        self.recent = Recent::default();
        self.repetition = Repetition::default();
        for entry in entries {
            self.take(entry);
        }
        // The entries were counted before.
        self.totals = totals;
        self.forget_announced();
    }

    pub(crate) fn transcript_mut(&mut self) -> &mut TranscriptFile {
        &mut self.transcript
    }

    /// Counts the usage of requests without a response whose turn has no line in the transcript.
    /// The next process does not know about them.
    pub(crate) fn count_unanswered(&mut self) {
        let usage = std::mem::take(&mut self.unanswered);
        self.totals.usage += usage;
    }

    pub(crate) fn emit(&self, event: AgentEvent) {
        self.parts.events.emit(event);
    }

    pub(crate) fn notice(&self, line: String) {
        self.emit(AgentEvent::Notice { line });
    }

    fn repair(&mut self) -> Result<()> {
        let cut = self.history.unanswered();
        if cut.is_empty() {
            return Ok(());
        }
        tracing::warn!(session = %self.transcript.author().session, calls = cut.len(), "added error results for tool calls interrupted by a crash");
        self.append(Entry::User {
            content: cut.iter().map(|id| error_result(id, INTERRUPTED)).collect(),
            message_ids: Vec::new(),
            repaired: true,
        })
    }
}

/// Replaces an empty message, which the model server would reject.
fn non_empty(text: String) -> ContentBlock {
    if text.trim().is_empty() {
        ContentBlock::text("(an empty message)")
    } else {
        ContentBlock::text(text)
    }
}
