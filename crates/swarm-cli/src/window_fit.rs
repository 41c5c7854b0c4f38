//! Keeps the panes around a lead in the user's tmux arranged when the terminal is resized. The
//! process of the lead does it; for a person at a shell the oldest teammate does.

use std::io;
use std::time::Duration;

use swarm_config::Environment;
use swarm_panes::{PaneError, PanePlacement, Size, TerminalFacts, TmuxBackend};
use swarm_protocol::PaneId;
use swarm_team::LeadPane;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// How long sizes must be stable: a window that is dragged changes its size many times.
const SETTLED: Duration = Duration::from_millis(150);

/// The windows around a lead.
#[derive(Debug)]
struct Windows {
    backend: TmuxBackend,
    /// The pane of this process if it is a teammate.
    own: Option<PaneId>,
    /// The size of the lead's window when it was arranged.
    size: Option<Size>,
}

/// Follows the size of the lead's window while the lead's process runs. Returns if the lead is not
/// in tmux.
pub(crate) fn follow_as_lead(facts: &TerminalFacts, place: PanePlacement) -> io::Result<()> {
    let resized = signal(SignalKind::window_change())?;
    let (Some(program), Some(env), Some(pane)) =
        (&facts.tmux_program, &facts.tmux_env, &facts.tmux_pane)
    else {
        return Ok(());
    };
    match TmuxBackend::inside(program.clone(), env, pane, place) {
        Ok(backend) => {
            let mut windows = Windows::new(backend, None);
            tokio::spawn(async move {
                windows.fit().await;
                windows.follow(resized).await;
            });
        }
        Err(error) => tracing::debug!(%error, "the lead's window is not followed"),
    }
    Ok(())
}

/// Follows the size of the window of a lead without a process while this teammate runs. Returns
/// when the size is known.
pub(crate) async fn follow_as_teammate(env: &Environment, lead: &LeadPane) -> io::Result<()> {
    let resized = signal(SignalKind::window_change())?;
    let (Some(program), Some(tmux), Some(own)) = (
        env.find_program("tmux"),
        env.get("TMUX"),
        env.get("TMUX_PANE"),
    ) else {
        return Ok(());
    };
    let place = if lead.keeps_teammates {
        PanePlacement::Split
    } else {
        PanePlacement::Auto
    };
    match TmuxBackend::inside(program, tmux, lead.id.as_str(), place) {
        Ok(backend) => {
            let mut windows = Windows::new(backend, Some(PaneId::new(own)));
            windows.fit().await;
            tokio::spawn(windows.follow(resized));
        }
        Err(error) => tracing::debug!(%error, "the lead's window is not followed"),
    }
    Ok(())
}

impl Windows {
    fn new(backend: TmuxBackend, own: Option<PaneId>) -> Self {
        Self {
            backend,
            own,
            size: None,
        }
    }

    async fn follow(mut self, mut resized: Signal) {
        while resized.recv().await.is_some() {
            while let Ok(Some(())) = tokio::time::timeout(SETTLED, resized.recv()).await {}
            self.fit().await;
        }
    }

    /// Rearranges the windows if the lead's changed its size since the last call.
    async fn fit(&mut self) {
        let fitted = self.backend.refit(self.own.as_ref(), self.size).await;
        self.size = logged(fitted).or(self.size);
    }
}

fn logged(size: Result<Option<Size>, PaneError>) -> Option<Size> {
    size.inspect_err(|error| tracing::debug!(%error, "panes not rearranged"))
        .unwrap_or_default()
}
