//! Marks the tmux window of a terminal in which a question waits.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use swarm_panes::{PanePlacement, TerminalFacts, TmuxBackend};
use tokio::sync::watch;
use tokio_util::task::AbortOnDropHandle;

/// How long the end waits until the mark is removed.
const REMOVAL: Duration = Duration::from_secs(1);

/// The mark of a window; it does nothing outside of tmux. Clones share it.
#[derive(Debug, Clone, Default)]
pub(crate) struct WindowMark(Option<Arc<Following>>);

#[derive(Debug)]
struct Following {
    wanted: watch::Sender<bool>,
    backend: Arc<TmuxBackend>,
    task: AbortOnDropHandle<()>,
}

impl WindowMark {
    /// Returns the mark of the window of this process's terminal. Must be called within a runtime.
    pub(crate) fn of(facts: &TerminalFacts) -> Self {
        let (Some(program), Some(env), Some(pane)) =
            (&facts.tmux_program, &facts.tmux_env, &facts.tmux_pane)
        else {
            return Self::default();
        };
        let Ok(backend) = TmuxBackend::inside(program.clone(), env, pane, PanePlacement::Auto)
        else {
            return Self::default();
        };
        let backend = Arc::new(backend);
        let (wanted, mut changes) = watch::channel(false);
        let marking = Arc::clone(&backend);
        let task = tokio::spawn(async move {
            // A lead that was killed in this pane may have left its mark.
            mark(&marking, false).await;
            while changes.changed().await.is_ok() {
                let is_waiting = *changes.borrow_and_update();
                mark(&marking, is_waiting).await;
            }
        });
        Self(Some(Arc::new(Following {
            wanted,
            backend,
            task: AbortOnDropHandle::new(task),
        })))
    }

    /// Marks the window while questions wait.
    pub(crate) fn set(&self, is_waiting: bool) {
        if let Some(following) = &self.0 {
            let change = |known: &mut bool| std::mem::replace(known, is_waiting) != is_waiting;
            following.wanted.send_if_modified(change);
        }
    }

    /// Removes the mark at the end of the process.
    pub(crate) async fn end(&self) {
        let Some(following) = self.0.as_ref().filter(|it| *it.wanted.borrow()) else {
            return;
        };
        following.task.abort();
        let removing = mark(&following.backend, false);
        tokio::time::timeout(REMOVAL, removing).await.ok();
    }
}

async fn mark(backend: &TmuxBackend, is_waiting: bool) {
    // tmux names programs by their first argument too.
    let program = std::env::args_os().next().unwrap_or_default();
    let program = Path::new(&program).file_name().unwrap_or_default();
    let program = program.to_string_lossy();
    if let Err(error) = backend.mark_window(&program, is_waiting).await {
        tracing::debug!(%error, "the window is not marked");
    }
}
