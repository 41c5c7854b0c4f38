//! A fake model server with a context window, and an agent that uses it.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use futures::{StreamExt, stream};
use parking_lot::Mutex;
use serde_json::{Value, json};
use swarm_agent::{
    AgentParts, Brief, Injected, InstructionSources, Session, SessionLimits, TurnOutcome,
};
use swarm_hooks::AgentHooks;
use swarm_model::{
    ContentBlock, Message, Model, ModelError, ModelEvent, ModelEvents, ModelRequest, ModelResponse,
    StopReason, StoredMessage,
};
use swarm_permissions::{InstructionSettings, ReadFilter, RuleSet};
use swarm_protocol::{MessageId, Usage};
use swarm_tools::{Tool, builtin};
use tokio_util::sync::CancellationToken;

use crate::setup::{Setup, on};
use crate::valid::{results, texts};

/// Context window of the server in tokens.
pub(crate) const WINDOW: u64 = 30_000;

/// A text in the summary request.
pub(crate) const QUESTION: &str = "6. Exact next step";

/// Number of files in the project, and bytes per file.
pub(crate) const FILES: usize = 7;
pub(crate) const FILE_BYTES: usize = 2_000;

/// A server with a context window: four bytes are a token. It rejects longer requests and reports
/// usage.
#[derive(Debug, Default)]
pub(crate) struct Server {
    pub(crate) requests: Mutex<Vec<ModelRequest>>,
    pub(crate) calls: AtomicU64,
    /// Return empty summaries.
    pub(crate) is_mute: AtomicBool,
    /// Most bytes of messages in a request; 0 means no limit. With a limit, images do not count as
    /// tokens.
    pub(crate) most_bytes: AtomicUsize,
    pub(crate) directory: PathBuf,
}

pub(crate) fn bytes(messages: &[Arc<StoredMessage>]) -> usize {
    let blocks = messages.iter().flat_map(|message| &message.blocks);
    blocks.map(|block| block.json().len()).sum()
}

pub(crate) fn tokens(request: &ModelRequest) -> u64 {
    let system: usize = request.system.iter().map(|block| block.text.len()).sum();
    let tools = request.tools.iter();
    let tools: usize = tools
        .map(|tool| tool.name.len() + tool.description.len() + tool.input_schema.json().len())
        .sum();
    ((system + tools + bytes(&request.messages)) / 4) as u64
}

pub(crate) fn asks_for_summary(request: &ModelRequest) -> bool {
    let last = request.messages.last().unwrap().message();
    texts(&last).iter().any(|text| text.contains(QUESTION))
}

impl Server {
    pub(crate) fn answer(&self, request: &ModelRequest) -> Vec<ContentBlock> {
        let number = self.calls.fetch_add(1, Ordering::SeqCst);
        if asks_for_summary(request) {
            let words = if self.is_mute.load(Ordering::SeqCst) {
                String::new()
            } else {
                format!("This is summary {number}.")
            };
            return vec![ContentBlock::text(words)];
        }
        let last = request.messages.last().unwrap().message();
        if !results(&last).is_empty() {
            return vec![ContentBlock::text("It is read.")];
        }
        let texts = texts(&last);
        let turn = texts.iter().find_map(|text| text.strip_prefix("turn "));
        let turn: usize = turn.unwrap().parse().unwrap();
        let path = self.file(turn % FILES);
        let call = |name: &str, input: Value| ContentBlock::ToolUse {
            id: format!("toolu_{number}_{name}"),
            name: name.to_owned(),
            input,
        };
        let mut calls = vec![call("Read", json!({"file_path": path}))];
        if turn.is_multiple_of(40) {
            let item = |text: String, status| json!({"content": text, "status": status, "activeForm": "doing"});
            let todos = [
                item(format!("begin {turn}"), "completed"),
                item(format!("end {turn}"), "pending"),
            ];
            calls.push(call("TodoWrite", json!({"todos": todos})));
        }
        calls
    }

    pub(crate) fn file(&self, number: usize) -> PathBuf {
        self.directory.join(format!("file-{number}.txt"))
    }

    pub(crate) fn requests(&self) -> Vec<ModelRequest> {
        self.requests.lock().clone()
    }
}

impl Model for Server {
    fn stream(&self, request: ModelRequest, _cancel: CancellationToken) -> ModelEvents {
        let tokens = tokens(&request);
        self.requests.lock().push(request.clone());
        let most_bytes = self.most_bytes.load(Ordering::SeqCst);
        if most_bytes > 0 && bytes(&request.messages) > most_bytes {
            let message = "Request exceeds the maximum size".to_owned();
            return stream::iter([Err(ModelError::ContextTooLong(message))]).boxed();
        }
        if most_bytes == 0 && tokens > WINDOW {
            let message = format!("prompt is too long: {tokens} tokens > {WINDOW} maximum");
            return stream::iter([Err(ModelError::ContextTooLong(message))]).boxed();
        }
        let content = self.answer(&request);
        let is_call = |block: &ContentBlock| matches!(block, ContentBlock::ToolUse { .. });
        let response = ModelResponse {
            stop_reason: if content.iter().any(is_call) {
                StopReason::ToolUse
            } else {
                StopReason::EndTurn
            },
            usage: Usage {
                input_tokens: tokens,
                output_tokens: 20,
                ..Usage::default()
            },
            content,
            model: "fake-1".into(),
        };
        stream::iter([Ok(ModelEvent::Completed(response))]).boxed()
    }
}

/// A fixed team state.
#[derive(Debug)]
pub(crate) struct Team;

impl Brief for Team {
    fn brief(&self) -> Option<String> {
        Some("alice: working".into())
    }

    fn facts(&self) -> Vec<swarm_agent::EnvironmentFact> {
        Vec::new()
    }
}

/// An agent that uses the server.
pub(crate) struct Talk {
    pub(crate) setup: Setup,
    pub(crate) server: Arc<Server>,
    pub(crate) window: Option<u64>,
    pub(crate) clears: bool,
    pub(crate) hooks: AgentHooks,
}

impl Talk {
    /// Creates an agent whose old results are cleared first.
    pub(crate) fn clearing() -> Self {
        Self {
            clears: true,
            ..Self::new(Some(WINDOW))
        }
    }

    pub(crate) fn new(window: Option<u64>) -> Self {
        Self::with_tools(builtin(), window)
    }

    pub(crate) fn with_tools(tools: Vec<Arc<dyn Tool>>, window: Option<u64>) -> Self {
        let setup = Setup::new(tools);
        let directory = setup.scratch.path().join("project");
        std::fs::create_dir_all(&directory).unwrap();
        let server = Server {
            directory: directory.clone(),
            ..Server::default()
        };
        for number in 0..FILES {
            let line = format!("line of file {number}\n");
            let text = line.repeat(FILE_BYTES / line.len());
            swarm_os::replace_alone(&server.file(number), text.as_bytes()).unwrap();
        }
        let instructions = b"Always whistle while you work.\n";
        swarm_os::replace_alone(&directory.join("CLAUDE.md"), instructions).unwrap();
        Self {
            setup,
            server: Arc::new(server),
            window,
            clears: false,
            hooks: AgentHooks::default(),
        }
    }

    pub(crate) fn open(&self) -> Session {
        let directory = self.server.directory.clone();
        let parts = self.setup.parts();
        let instructions = InstructionSources {
            settings: InstructionSettings {
                files: vec!["CLAUDE.md".into()],
                ..InstructionSettings::default()
            },
            managed: self.setup.scratch.path().join("managed.md"),
            root: self.setup.scratch.path().join("root"),
            home: None,
            unreadable: ReadFilter::new(&RuleSet::default(), &directory, None),
        };
        let parts = AgentParts {
            model: self.server.clone(),
            limits: SessionLimits {
                window: self.window,
                clear_tool_results: self.clears,
                ..self.setup.limits.clone()
            },
            instructions: Some(Arc::new(instructions)),
            hooks: self.hooks.clone(),
            skills: Arc::new([]),
            brief: Some(Arc::new(Team)),
            tool_context: swarm_tools::ToolContext {
                cwd: directory,
                ..parts.tool_context
            },
            ..parts
        };
        Session::open(self.setup.transcript(), parts).unwrap()
    }

    pub(crate) fn summaries(&self) -> usize {
        let requests = self.server.requests();
        let asked = requests.iter().filter(|request| asks_for_summary(request));
        asked.count()
    }

    pub(crate) fn boundaries(&self) -> usize {
        let on_disk = std::fs::read_to_string(self.setup.path()).unwrap_or_default();
        on_disk.matches("\"subtype\":\"compact_boundary\"").count()
    }
}

pub(crate) fn message(turn: usize) -> Injected {
    Injected::message(MessageId::new(format!("m{turn}")), format!("turn {turn}"))
}

pub(crate) async fn take_turn(session: &mut Session, turn: usize) -> TurnOutcome {
    session.deliver(vec![message(turn)]).unwrap();
    session.run_turn(on()).await
}

/// Takes turns until the conversation was compacted; returns the number of the next turn.
pub(crate) async fn compact(talk: &Talk, session: &mut Session) -> usize {
    let mut turn = 0;
    while talk.boundaries() == 0 {
        assert_finished(&take_turn(session, turn).await);
        turn += 1;
    }
    turn
}

#[track_caller]
pub(crate) fn assert_finished(outcome: &TurnOutcome) {
    assert!(outcome.is_finished(), "{outcome:?}");
}

pub(crate) fn said(request: &ModelRequest) -> Vec<Message> {
    request.messages.iter().map(|one| one.message()).collect()
}
