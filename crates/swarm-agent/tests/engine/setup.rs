//! A session and its components.

use std::collections::VecDeque;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use parking_lot::Mutex;
use serde_json::Value;
use swarm_agent::{
    AgentParts, EventSink, ForkPoint, Injected, Interjections, PermissionGate, Rights, Session,
    SessionLimits, TranscriptAuthor, TranscriptFile, Withdrawal, transcript_path,
};
use swarm_hooks::{AgentHooks, HookInput, Hooks, HooksParts};
use swarm_permissions::{HookSettings, PermissionOutcome, PermissionRequest, RuleSet};
use swarm_protocol::{
    AgentEvent, MemberName, MessageId, PermissionMode, SessionId, SystemClock, TeamName,
};
use swarm_tools::{Caller, ProtectedPaths, Tool, ToolContext};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::model::FakeModel;

/// A directory that is removed when the test ends.
#[derive(Debug)]
pub(crate) struct Scratch(PathBuf);

impl Scratch {
    /// Uses memory if the system provides it, because the tests do thousands of synced writes.
    pub(crate) fn new() -> Self {
        let memory = Path::new("/dev/shm");
        let on_disk = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let base = if memory.is_dir() { memory } else { on_disk };
        let path = base.join(format!("swarm-agent-{}", Uuid::new_v4()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // A leftover directory in the scratch space does no harm.
        let _left_over = fs::remove_dir_all(&self.0);
    }
}

/// Records events.
#[derive(Debug, Default)]
pub(crate) struct Watcher(Mutex<Vec<AgentEvent>>);

impl Watcher {
    pub(crate) fn events(&self) -> Vec<AgentEvent> {
        self.0.lock().clone()
    }
}

impl EventSink for Watcher {
    fn emit(&self, event: AgentEvent) {
        self.0.lock().push(event);
    }
}

/// Returns the scripted answers, then waits until the request is cancelled.
#[derive(Debug, Default)]
pub(crate) struct Gate {
    pub(crate) answers: Mutex<VecDeque<PermissionOutcome>>,
    pub(crate) asked: Mutex<Vec<PermissionRequest>>,
    pub(crate) waiting: Arc<Notify>,
    /// Why requests were withdrawn.
    pub(crate) withdrawn: Mutex<Vec<&'static str>>,
    /// Whether a withdrawal never ends, like one that waits for a lock.
    pub(crate) hangs: bool,
}

#[async_trait]
impl PermissionGate for Gate {
    async fn ask(&self, ask: PermissionRequest, withdrawal: Withdrawal) -> PermissionOutcome {
        self.asked.lock().push(ask);
        let answer = self.answers.lock().pop_front();
        if let Some(answer) = answer {
            return answer;
        }
        self.waiting.notify_one();
        let why = withdrawal.requested().await;
        self.withdrawn.lock().push(why);
        if self.hangs {
            return std::future::pending().await;
        }
        PermissionOutcome::allow(None)
    }
}

/// Urgent mail: one batch per request for interjections.
#[derive(Debug, Default)]
pub(crate) struct Mail {
    pub(crate) batches: Mutex<VecDeque<Vec<Injected>>>,
    /// Acknowledged messages, each with the transcript on disk at that time.
    pub(crate) delivered: Mutex<Vec<(MessageId, String)>>,
    pub(crate) transcript: Mutex<PathBuf>,
}

#[async_trait]
impl Interjections for Mail {
    async fn between_calls(&self) -> Vec<Injected> {
        self.batches.lock().pop_front().unwrap_or_default()
    }

    async fn delivered(&self, ids: &[MessageId]) {
        let on_disk = fs::read_to_string(&*self.transcript.lock()).unwrap();
        let ids = ids.iter().map(|id| (id.clone(), on_disk.clone()));
        self.delivered.lock().extend(ids);
    }
}

/// Returns the hooks of these settings, which run in `directory`.
pub(crate) fn hooks_in(directory: &Path, settings: &Value) -> AgentHooks {
    let (settings, remarks) = HookSettings::read(settings, "a test");
    assert!(remarks.is_empty(), "{remarks:?}");
    let hooks = Hooks::new(HooksParts {
        settings,
        env: [("PATH".to_owned(), "/usr/bin:/bin".to_owned())].into(),
        project: directory.to_owned(),
        notice: Arc::new(|_| {}),
        services: None,
        sandbox: None,
    });
    AgentHooks::new(hooks, HookInput::default)
}

/// The components of a session. Fields may be changed before `open`.
#[derive(Debug)]
pub(crate) struct Setup {
    pub(crate) scratch: Scratch,
    pub(crate) session: SessionId,
    pub(crate) model: Arc<FakeModel>,
    pub(crate) watcher: Arc<Watcher>,
    pub(crate) gate: Arc<Gate>,
    pub(crate) mail: Arc<Mail>,
    pub(crate) rights: Arc<Rights>,
    pub(crate) tools: Vec<Arc<dyn Tool>>,
    pub(crate) limits: SessionLimits,
    pub(crate) hooks: AgentHooks,
}

impl Setup {
    pub(crate) fn new(tools: Vec<Arc<dyn Tool>>) -> Self {
        let setup = Self {
            scratch: Scratch::new(),
            session: SessionId::random(),
            model: Arc::default(),
            watcher: Arc::default(),
            gate: Arc::default(),
            mail: Arc::default(),
            rights: rights(PermissionMode::BypassPermissions),
            tools,
            limits: SessionLimits {
                cancel_grace: Duration::from_millis(50),
                ..SessionLimits::default()
            },
            hooks: AgentHooks::default(),
        };
        *setup.mail.transcript.lock() = setup.path();
        setup
    }

    pub(crate) fn path(&self) -> PathBuf {
        transcript_path(self.scratch.path(), Path::new("/work/repo"), self.session)
    }

    pub(crate) fn author(&self) -> TranscriptAuthor {
        TranscriptAuthor {
            session: self.session,
            cwd: "/work/repo".into(),
            version: "0.0.0".into(),
            agent: Some(MemberName::parse("bob").unwrap()),
            team: Some(TeamName::parse("crew").unwrap()),
            spawn: None,
            sub_agent: None,
        }
    }

    pub(crate) fn transcript(&self) -> TranscriptFile {
        TranscriptFile::open(self.path(), self.author(), Arc::new(SystemClock)).unwrap()
    }

    pub(crate) fn open(&self) -> Session {
        Session::open(self.transcript(), self.parts()).unwrap()
    }

    /// Opens a session with a prompt.
    pub(crate) fn prompted(&self) -> Session {
        let mut session = self.open();
        session.deliver(vec![Injected::prompt("do it")]).unwrap();
        session
    }

    pub(crate) fn parts(&self) -> AgentParts {
        AgentParts {
            name: "bob".into(),
            system: vec!["You are bob.".into(), "The directory is /work/repo.".into()],
            model: self.model.clone(),
            model_name: "fake-1".into(),
            tools: self.tools.clone(),
            withheld: Vec::new(),
            rights: self.rights.clone(),
            gate: self.gate.clone(),
            events: self.watcher.clone(),
            interjections: self.mail.clone(),
            hooks: self.hooks.clone(),
            skills: Arc::new([]),
            forks: ForkPoint::default(),
            limits: self.limits.clone(),
            home: None,
            instructions: None,
            environment: None,
            brief: None,
            tool_context: ToolContext {
                protected: Arc::new(ProtectedPaths::new(self.scratch.path())),
                ..ToolContext::new(
                    "/work/repo".into(),
                    Caller::new(MemberName::parse("bob").unwrap()),
                )
            },
        }
    }

    /// Returns the transcript on disk.
    pub(crate) fn on_disk(&self) -> String {
        fs::read_to_string(self.path()).unwrap()
    }
}

pub(crate) fn rights(mode: PermissionMode) -> Arc<Rights> {
    Arc::new(Rights::new(
        mode,
        RuleSet::default(),
        PermissionMode::BypassPermissions,
    ))
}

/// A token that is never cancelled.
pub(crate) fn on() -> CancellationToken {
    CancellationToken::new()
}
