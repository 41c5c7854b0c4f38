//! An SVG picture of the panes.

use swarm_panes::{PaneBackend as _, TmuxBackend, WindowView};
use swarm_protocol::TeamName;
use swarm_ui::picture::{Pane, Window};

use crate::failure::Result;

/// The panes of the team and its lead.
pub(super) async fn capture(backend: &TmuxBackend, team: &TeamName) -> Result<Vec<Window>> {
    let views = backend.view(team).await?;
    Ok(views.into_iter().map(window).collect())
}

/// Maximum number of member panes in a picture.
pub(super) fn panes(windows: &[Window]) -> usize {
    windows.iter().map(|window| window.panes.len()).sum()
}

fn window(view: WindowView) -> Window {
    Window {
        name: view.name,
        columns: view.size.columns,
        rows: view.size.rows,
        status: String::new(),
        panes: view
            .panes
            .into_iter()
            .map(|pane| {
                let is_lead = pane.member.is_none();
                let name = if is_lead {
                    "team-lead".to_owned()
                } else {
                    pane.title
                };
                let title = match pane.state.as_str() {
                    "" => name,
                    state => format!("{name} · {state}"),
                };
                Pane {
                    left: pane.left,
                    top: pane.top,
                    width: pane.size.columns,
                    height: pane.size.rows,
                    title,
                    color: pane.color.filter(|_| !is_lead),
                    active: is_lead,
                    content: pane.content,
                }
            })
            .collect(),
    }
}
