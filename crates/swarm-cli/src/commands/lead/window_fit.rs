//! Keeps the panes around a lead in the user's tmux arranged when the terminal is resized.

use std::io;
use std::time::Duration;

use swarm_panes::{PaneError, PanePlacement, Size, TerminalFacts, TmuxBackend};
use tokio::signal::unix::{Signal, SignalKind, signal};

/// How long sizes must be stable: a window that is dragged changes its size many times.
const SETTLED: Duration = Duration::from_millis(150);

/// Follows the size of the lead's window while the process runs. Returns if the lead is not in tmux.
///
/// # Errors
/// Returns an error if the signal handler cannot be installed.
pub(super) fn follow(facts: &TerminalFacts, place: PanePlacement) -> io::Result<()> {
    let resized = signal(SignalKind::window_change())?;
    let (Some(program), Some(env), Some(pane)) =
        (&facts.tmux_program, &facts.tmux_env, &facts.tmux_pane)
    else {
        return Ok(());
    };
    match TmuxBackend::inside(program.clone(), env, pane, place) {
        Ok(backend) => drop(tokio::spawn(refit(backend, resized))),
        Err(error) => tracing::debug!(%error, "the lead's window is not followed"),
    }
    Ok(())
}

async fn refit(backend: TmuxBackend, mut resized: Signal) {
    let mut size = logged(backend.refit(None).await);
    while resized.recv().await.is_some() {
        while let Ok(Some(())) = tokio::time::timeout(SETTLED, resized.recv()).await {}
        size = logged(backend.refit(size).await).or(size);
    }
}

fn logged(size: Result<Option<Size>, PaneError>) -> Option<Size> {
    size.inspect_err(|error| tracing::debug!(%error, "panes not rearranged"))
        .unwrap_or_default()
}
