//! A fake backend of panes: it opens no panes, records its calls, and ends processes on demand.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use parking_lot::Mutex;
use swarm_panes::{
    Pane, PaneBackend, PaneCommand, PaneError, PaneSpec, PaneStatus, PaneText, Started, TaggedPane,
};
use swarm_protocol::{BackendType, PaneId, SpawnId};
use tokio::sync::watch;

/// A recorded call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PaneCall {
    /// A pane was opened.
    Open {
        /// Id assigned to the pane.
        pane: PaneId,
        /// The requested pane.
        spec: PaneSpec,
    },
    /// A program was started.
    Start {
        /// Id of the pane.
        pane: PaneId,
        /// The command.
        command: PaneCommand,
    },
    /// A pane was closed.
    Close {
        /// Id of the pane.
        pane: PaneId,
        /// Spawn for which it was closed.
        owner: SpawnId,
    },
}

/// Callback that plays the program when it is started.
type OnStart = Arc<dyn Fn(&Pane, &PaneCommand) + Send + Sync>;

/// The fake. Clones share their state.
#[derive(Clone, Default)]
pub struct RecordingBackend {
    inner: Arc<Mutex<Inner>>,
}

#[derive(Default)]
struct Inner {
    calls: Vec<PaneCall>,
    panes: BTreeMap<u32, Fake>,
    opened: u32,
    refuse_open: Option<&'static str>,
    refuse_start: Option<&'static str>,
    on_start: Option<OnStart>,
}

struct Fake {
    spec: PaneSpec,
    content: String,
    status: watch::Sender<PaneStatus>,
}

impl fmt::Debug for RecordingBackend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let inner = self.inner.lock();
        f.debug_struct("RecordingBackend")
            .field("calls", &inner.calls.len())
            .field("panes", &inner.panes.len())
            .finish()
    }
}

impl RecordingBackend {
    /// Creates a fake without panes.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns all recorded calls.
    pub fn calls(&self) -> Vec<PaneCall> {
        self.inner.lock().calls.clone()
    }

    /// Makes `open` fail with this reason, or succeed again.
    pub fn refuse_open(&self, why: Option<&'static str>) {
        self.inner.lock().refuse_open = why;
    }

    /// Makes `start` fail with this reason, or succeed again.
    pub fn refuse_start(&self, why: Option<&'static str>) {
        self.inner.lock().refuse_start = why;
    }

    /// Sets the callback that runs when a program is started, before `start` returns; tests write
    /// the member's hello there.
    pub fn on_start(&self, play: impl Fn(&Pane, &PaneCommand) + Send + Sync + 'static) {
        self.inner.lock().on_start = Some(Arc::new(play));
    }

    /// Sets the content of a pane.
    pub fn set_content(&self, pane: &PaneId, content: &str) {
        let mut inner = self.inner.lock();
        if let Some(fake) = number(pane).and_then(|n| inner.panes.get_mut(&n)) {
            content.clone_into(&mut fake.content);
        }
    }

    /// Ends the process in a pane. As in tmux, the pane closes on success and remains after a
    /// failure.
    pub fn finish(&self, pane: &PaneId, code: i32) {
        let mut inner = self.inner.lock();
        let Some(n) = number(pane) else { return };
        if code == 0 {
            if let Some(fake) = inner.panes.remove(&n) {
                fake.status.send_replace(PaneStatus::Gone);
            }
        } else if let Some(fake) = inner.panes.get(&n) {
            fake.status.send_replace(PaneStatus::exited(code));
        }
    }

    /// Calls `act` with an existing pane.
    fn with<T>(&self, pane: &Pane, act: impl FnOnce(&mut Fake) -> T) -> Result<T, PaneError> {
        let mut inner = self.inner.lock();
        number(&pane.id)
            .and_then(|n| inner.panes.get_mut(&n))
            .map(act)
            .ok_or_else(|| PaneError::Gone(pane.id.clone()))
    }
}

fn number(pane: &PaneId) -> Option<u32> {
    pane.as_str().strip_prefix('%')?.parse().ok()
}

/// Returns the last lines of a text, or all of them, without trailing blank lines.
fn last_lines(text: &str, lines: Option<usize>) -> String {
    let all: Vec<&str> = text.trim_end().lines().collect();
    let first = lines.map_or(0, |lines| all.len().saturating_sub(lines));
    all[first..].join("\n")
}

fn refused(why: &'static str) -> PaneError {
    PaneError::Unavailable {
        backend: BackendType::Tmux,
        why: why.to_owned(),
    }
}

#[async_trait]
impl PaneBackend for RecordingBackend {
    fn kind(&self) -> BackendType {
        BackendType::Tmux
    }

    async fn open(&self, spec: &PaneSpec) -> Result<Pane, PaneError> {
        let mut inner = self.inner.lock();
        if let Some(why) = inner.refuse_open {
            return Err(refused(why));
        }
        inner.opened += 1;
        let n = inner.opened;
        let pane = Pane::new(PaneId::new(format!("%{n}")), None);
        let fake = Fake {
            spec: spec.clone(),
            content: String::new(),
            status: watch::Sender::new(PaneStatus::Empty),
        };
        inner.panes.insert(n, fake);
        inner.calls.push(PaneCall::Open {
            pane: pane.id.clone(),
            spec: spec.clone(),
        });
        Ok(pane)
    }

    async fn start(&self, pane: &Pane, command: &PaneCommand) -> Result<Started, PaneError> {
        let pid = number(&pane.id).map(|n| 1_000_000 + n);
        let play = {
            let mut inner = self.inner.lock();
            if let Some(why) = inner.refuse_start {
                return Err(refused(why));
            }
            inner.calls.push(PaneCall::Start {
                pane: pane.id.clone(),
                command: command.clone(),
            });
            inner.on_start.clone()
        };
        let running = PaneStatus::Running {
            pid: pid.unwrap_or_default(),
        };
        self.with(pane, |fake| fake.status.send_replace(running))?;
        if let Some(play) = play {
            play(pane, command);
        }
        Ok(Started { pid })
    }

    async fn status(&self, pane: &Pane) -> Result<PaneStatus, PaneError> {
        let status = self.with(pane, |fake| fake.status.borrow().clone());
        Ok(status.unwrap_or(PaneStatus::Gone))
    }

    async fn capture(&self, pane: &Pane, part: PaneText) -> Result<String, PaneError> {
        self.with(pane, |fake| last_lines(&fake.content, part.lines))
    }

    async fn close(&self, pane: &Pane, owner: &SpawnId) -> Result<(), PaneError> {
        let mut inner = self.inner.lock();
        inner.calls.push(PaneCall::Close {
            pane: pane.id.clone(),
            owner: *owner,
        });
        let Some(n) = number(&pane.id) else {
            return Ok(());
        };
        match inner.panes.get(&n) {
            Some(fake) if fake.spec.spawn_id != *owner => Err(PaneError::Foreign {
                pane: pane.id.clone(),
                expected: owner.to_string(),
                found: format!("it is spawn {}", fake.spec.spawn_id),
            }),
            Some(_) => {
                if let Some(fake) = inner.panes.remove(&n) {
                    fake.status.send_replace(PaneStatus::Gone);
                }
                Ok(())
            }
            None => Ok(()),
        }
    }

    async fn exited(&self, pane: &Pane) -> Result<PaneStatus, PaneError> {
        let Ok(mut status) = self.with(pane, |fake| fake.status.subscribe()) else {
            return Ok(PaneStatus::Gone);
        };
        let ended = status
            .wait_for(|status| !matches!(status, PaneStatus::Running { .. }))
            .await;
        Ok(ended.map_or(PaneStatus::Gone, |status| status.clone()))
    }

    async fn attach_command(&self, pane: &Pane) -> Vec<OsString> {
        vec!["attach-to".into(), pane.id.as_str().into()]
    }

    async fn all_panes(&self) -> Result<Vec<TaggedPane>, PaneError> {
        let inner = self.inner.lock();
        let panes = inner.panes.iter();
        Ok(panes
            .map(|(n, fake)| TaggedPane {
                pane: Pane::new(PaneId::new(format!("%{n}")), None),
                team: fake.spec.team.clone(),
                member: fake.spec.member.clone(),
                spawn_id: fake.spec.spawn_id,
                root: Some(fake.spec.root.clone()),
                title: fake.spec.title.clone(),
                status: fake.status.borrow().clone(),
            })
            .collect())
    }
}
