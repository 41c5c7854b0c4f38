//! The windows around a lead after they were resized.

use swarm_protocol::PaneId;
use tmux_interface::{BreakPane, JoinPane};

use super::arrange;
use super::backend::TmuxBackend;
use super::batch::Batch;
use super::create::window_name;
use super::facts::WindowQuery;
use super::layout_lock::Layout;
use super::placement::{Placement, WindowKind, further_window, window_kind};
use super::snapshot::{PaneRow, Snapshot, Tag};
use crate::layout::fits_beside_lead;
use crate::{PaneError, PaneStatus, Size};

impl TmuxBackend {
    /// Rearranges the windows around the lead if its window no longer has the size `before`:
    /// teammates for which there is no room any more move to further windows. Returns the size of
    /// the window; `None` if this backend has no lead. Without `before` nothing is changed. A
    /// teammate of a lead without a process passes its `own` pane: only the one whose pane is the
    /// oldest of its team changes anything.
    ///
    /// # Errors
    /// [`PaneError`] if the server does not answer properly.
    pub async fn refit(
        &self,
        own: Option<&PaneId>,
        before: Option<Size>,
    ) -> Result<Option<Size>, PaneError> {
        let Some(lead) = self.lead_pane() else {
            return Ok(None);
        };
        let mut layout = Layout::lock(&self.layout).await;
        let mut snapshot = Snapshot::take(self.server()).await?;
        let Some(size) = snapshot.pane(lead).map(|row| row.window_size) else {
            return Ok(None);
        };
        let is_others = own.is_some_and(|own| !is_oldest(&snapshot, own, lead));
        if is_others || before.is_none_or(|before| before == size) {
            return Ok(Some(size));
        }
        // It shows the windows before the changes below.
        drop(layout.take_last_snapshot());
        while let Some((row, tag)) = surplus(&snapshot, lead).filter(|_| !self.requires_split()) {
            let moving = moving(&snapshot, row, tag, lead).then(&Snapshot::command());
            snapshot = Snapshot::parse(&self.server().run(&moving).await?)?;
        }
        self.arrange_session(&snapshot, lead).await?;
        Ok(Some(size))
    }

    async fn arrange_session(&self, snapshot: &Snapshot, lead: &PaneId) -> Result<(), PaneError> {
        let session = snapshot.pane(lead).map(|row| row.session.as_str());
        let mut batch = Batch::new().then_all(arrange::remove_options(snapshot));
        for panes in session
            .map(|session| snapshot.windows(session))
            .into_iter()
            .flatten()
        {
            if panes.iter().all(|row| row.tag.is_none()) {
                continue;
            }
            let facts = WindowQuery::about(&panes, None).ask(self.server()).await?;
            batch = batch
                .then_all(arrange::show_titles(&panes, &facts))
                .then_all(arrange::arrange_window(&panes, Some(lead), self.owner()));
        }
        if !batch.is_empty() {
            self.server().run(&batch).await?;
        }
        Ok(())
    }
}

/// Returns whether a pane is the oldest running one of its team in the lead's session. Moving panes
/// does not change that, so at most one process moves them.
fn is_oldest(snapshot: &Snapshot, own: &PaneId, lead: &PaneId) -> bool {
    let team = snapshot.pane(own).and_then(|row| row.tag.as_ref());
    let (Some(Tag { team, .. }), Some(lead)) = (team, snapshot.pane(lead)) else {
        return false;
    };
    let is_of_team = |row: &&PaneRow| {
        row.session == lead.session
            && matches!(row.status, PaneStatus::Running { .. })
            && row.tag.as_ref().is_some_and(|tag| tag.team == *team)
    };
    let rows = snapshot.rows.iter().filter(is_of_team);
    let oldest = rows.min_by_key(|row| row.number());
    oldest.is_some_and(|row| row.id == *own)
}

/// Returns the first pane for which there is no room next to the lead.
fn surplus<'a>(snapshot: &'a Snapshot, lead: &PaneId) -> Option<(&'a PaneRow, &'a Tag)> {
    let row = snapshot.pane(lead).filter(|row| !row.is_zoomed())?;
    let window = snapshot.window(&row.session, &row.window);
    let teammates = window.len() - 1;
    let is_arranged = window_kind(&window, Some(lead)) == WindowKind::LeadAndOurs;
    let has_room = |number: &usize| fits_beside_lead(row.window_size, *number);
    let staying = (1..=teammates).take_while(has_room).count();
    let first = *window.get(1 + staying).filter(|_| is_arranged)?;
    first.tag.as_ref().map(|tag| (first, tag))
}

/// Returns the commands that move a pane to a further window of its team.
fn moving(snapshot: &Snapshot, row: &PaneRow, tag: &Tag, lead: &PaneId) -> Batch {
    let source = row.id.as_str().to_owned();
    match further_window(snapshot, &row.session, &tag.team, Some(lead), None) {
        Placement::Split { pane, .. } => Batch::new().then(
            &JoinPane::new()
                .detached()
                .src_pane(source)
                .dst_pane(pane.as_str().to_owned())
                .build(),
        ),
        Placement::Window { number, .. } => Batch::new().then(
            &BreakPane::new()
                .detached()
                .src_pane(source)
                .dst_window(format!("{}:", row.session))
                .window_name(window_name(&format!("swarm-{}", tag.team), number))
                .build(),
        ),
        // Only on swarm's own server, which has no lead.
        Placement::Session => Batch::new(),
    }
}
