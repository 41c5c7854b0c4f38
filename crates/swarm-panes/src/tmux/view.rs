//! Captures the windows of a team.

use swarm_protocol::{PaneId, TeamName};

use super::backend::TmuxBackend;
use super::batch::Batch;
use super::commands;
use super::snapshot::{PaneRow, Snapshot};
use crate::{CapturedPane, PaneError, Size, WindowView};

/// Maximum number of attempts to capture a stable layout; the last one is used even if the layout
/// changed.
const CAPTURE_ATTEMPTS: usize = 5;

/// See [`crate::PaneBackend::view`].
pub(crate) async fn of_team(
    backend: &TmuxBackend,
    team: &TeamName,
) -> Result<Vec<WindowView>, PaneError> {
    let mut before = Snapshot::take(backend.server()).await?;
    for _ in 0..CAPTURE_ATTEMPTS {
        let views = draw(backend, team, &before).await?;
        let after = Snapshot::take(backend.server()).await?;
        if layout(&before).eq(layout(&after)) {
            return Ok(views);
        }
        // A pane was opened, closed or resized during the capture: the captured parts are
        // inconsistent.
        before = after;
    }
    draw(backend, team, &before).await
}

/// Returns the properties that must not change during a capture.
fn layout(snapshot: &Snapshot) -> impl Iterator<Item = (&PaneId, u16, u16, Size)> {
    let rows = snapshot.rows.iter();
    rows.map(|row| (&row.id, row.left, row.top, row.size))
}

async fn draw(
    backend: &TmuxBackend,
    team: &TeamName,
    snapshot: &Snapshot,
) -> Result<Vec<WindowView>, PaneError> {
    let mut windows: Vec<(&str, &str)> = Vec::new();
    for row in &snapshot.rows {
        let of_team = row.tag.as_ref().is_some_and(|tag| tag.team == *team);
        if of_team && !windows.iter().any(|(_, window)| *window == row.window) {
            windows.push((&row.session, &row.window));
        }
    }
    let mut views = Vec::new();
    for (session, window) in windows {
        let rows = snapshot.window(session, window);
        let mut panes = Vec::new();
        for row in &rows {
            panes.push(pane_view(backend, row).await?);
        }
        panes.sort_by_key(|pane| (pane.top, pane.left));
        if let Some(first) = rows.first() {
            views.push(WindowView {
                name: first.window_name.clone(),
                size: first.window_size,
                panes,
            });
        }
    }
    Ok(views)
}

async fn pane_view(backend: &TmuxBackend, row: &PaneRow) -> Result<CapturedPane, PaneError> {
    let is_lead = backend.lead_pane() == Some(&row.id);
    let content = if is_lead || row.tag.is_some() {
        let capture = Batch::new().then(&commands::capture(&row.id, None, true));
        match backend.server().run(&capture).await {
            Ok(content) => content,
            // It closed after the list was taken.
            Err(PaneError::Refused { .. } | PaneError::ServerGone(_)) => String::new(),
            Err(error) => return Err(error),
        }
    } else {
        String::new()
    };
    Ok(CapturedPane {
        id: row.id.clone(),
        member: row.tag.as_ref().map(|tag| tag.member.clone()),
        title: if row.tag.is_some() {
            row.title.clone()
        } else {
            String::new()
        },
        state: row.tag.as_ref().map_or_else(String::new, |_| row.state()),
        color: row.tag.as_ref().and(row.color),
        left: row.left,
        top: row.top,
        size: row.size,
        content,
    })
}
