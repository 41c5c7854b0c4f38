//! Selects the position of a new pane from a snapshot, without querying tmux.

use swarm_protocol::{PaneId, TeamName};

use super::commands::Split;
use super::own_server::OWN_SESSION;
use super::snapshot::{PaneRow, Snapshot};
use crate::layout::{fits_beside_lead, lead_columns};
use crate::{Arrangement, MINIMUM_PANE, PanePlacement, Size};

/// Position of a new pane.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Placement {
    /// Split a pane.
    Split {
        /// The pane to split.
        pane: PaneId,
        /// Number of columns for a split to the right; `None` splits below.
        columns: Option<u16>,
    },
    /// A new window in this session.
    Window {
        /// Id of the session, `$0`.
        session: String,
        /// Number of the new window among the teammates' windows of the session.
        number: usize,
    },
    /// The first session of swarm's own server.
    Session,
}

impl Placement {
    /// Converts the columns to the split of the command builder.
    pub(crate) fn split_of(columns: Option<u16>) -> Split {
        columns.map_or(Split::Below, Split::Right)
    }
}

/// The lead's pane and the placement setting.
#[derive(Debug, Clone)]
pub(crate) struct Lead {
    /// Pane from `TMUX_PANE`.
    pub(crate) pane: PaneId,
    /// The `tmux.place` setting.
    pub(crate) place: PanePlacement,
}

impl Lead {
    /// Returns whether panes must be next to the lead.
    pub(crate) fn requires_split(&self) -> bool {
        self.place == PanePlacement::Split
    }
}

/// Classification of a window by its panes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WindowKind {
    /// The lead on the left and only panes of swarm on its right; swarm arranges it.
    LeadAndOurs,
    /// Only panes of one team; swarm arranges it.
    Ours,
    /// Contains other panes, or the user has moved the lead; swarm does not arrange it.
    Shared,
}

/// Classifies the window with these panes, in order.
pub(crate) fn window_kind(panes: &[&PaneRow], lead: Option<&PaneId>) -> WindowKind {
    let is_lead = |row: &PaneRow| lead == Some(&row.id);
    let Some((first, others)) = panes.split_first() else {
        return WindowKind::Shared;
    };
    let all_ours = others.iter().all(|row| row.is_ours() && !is_lead(row));
    if !all_ours {
        WindowKind::Shared
    } else if is_lead(first) {
        WindowKind::LeadAndOurs
    } else if first.is_ours() {
        WindowKind::Ours
    } else {
        WindowKind::Shared
    }
}

/// Reason for which a pane is not next to the lead, as the rest of a sentence about the lead's
/// window.
pub(crate) type NoSplitReason = &'static str;

/// The reason if another pane would make one unreadable.
pub(crate) const NO_ROOM: NoSplitReason = "has no room for another pane of 60 columns and 8 rows";

/// Returns the position of a pane of `team` in the user's tmux, and the reason if it is not next to
/// the lead. `None` if the lead's pane does not exist.
pub(crate) fn in_users_tmux(
    snapshot: &Snapshot,
    lead: &Lead,
    team: &TeamName,
) -> Option<(Placement, Option<NoSplitReason>)> {
    let lead_row = snapshot.pane(&lead.pane)?;
    Some(match beside_lead(snapshot, lead, lead_row) {
        Ok(split) => (split, None),
        Err(why) => {
            let window = further_window(snapshot, &lead_row.session, team, Some(&lead.pane), None);
            (window, Some(why))
        }
    })
}

fn beside_lead(
    snapshot: &Snapshot,
    lead: &Lead,
    row: &PaneRow,
) -> Result<Placement, NoSplitReason> {
    let window = snapshot.window(&row.session, &row.window);
    let is_lead = |pane: &PaneRow| pane.id == lead.pane;
    match (lead.place, window_kind(&window, Some(&lead.pane))) {
        (PanePlacement::Window | PanePlacement::Hidden, _) => Err("is excluded by `tmux.place`"),
        _ if row.is_zoomed() => Err("is zoomed"),
        (_, WindowKind::LeadAndOurs) => split_arranged(row, &window).ok_or(NO_ROOM),
        (PanePlacement::Split, _) => split_shared(row, &window).ok_or(NO_ROOM),
        (PanePlacement::Auto, _) if window.iter().all(|pane| is_lead(pane) || pane.is_ours()) => {
            Err("has a custom arrangement")
        }
        (PanePlacement::Auto, _) => Err("contains other panes"),
    }
}

/// In a window that swarm arranges: next to the lead, then below the last teammate; the arrangement
/// equalizes sizes.
fn split_arranged(lead: &PaneRow, window: &[&PaneRow]) -> Option<Placement> {
    if !fits_beside_lead(lead.window_size, window.len()) {
        return None;
    }
    Some(match window {
        [_, .., last] => Placement::Split {
            pane: last.id.clone(),
            columns: None,
        },
        _ => Placement::Split {
            pane: lead.id.clone(),
            columns: Some(right_of_lead(lead.size)),
        },
    })
}

/// In a window with other panes: only the lead's pane and panes of swarm are split.
fn split_shared(lead: &PaneRow, window: &[&PaneRow]) -> Option<Placement> {
    let tallest = window
        .iter()
        .filter(|row| row.tag.is_some())
        .max_by_key(|row| row.size.rows);
    match tallest {
        Some(ours) => {
            let halves = Size::new(MINIMUM_PANE.columns, 2 * MINIMUM_PANE.rows + 1);
            ours.size.holds(halves).then(|| Placement::Split {
                pane: ours.id.clone(),
                columns: None,
            })
        }
        None => fits_beside_lead(lead.size, 1).then(|| Placement::Split {
            pane: lead.id.clone(),
            columns: Some(right_of_lead(lead.size)),
        }),
    }
}

/// Returns the columns to the right of the lead and the border.
fn right_of_lead(size: Size) -> u16 {
    size.columns.saturating_sub(lead_columns(size) + 1)
}

/// Returns the position of a pane of `team` on swarm's own server. `unwatched` is the maximum size
/// of a window without a client.
pub(crate) fn on_own_server(snapshot: &Snapshot, team: &TeamName, unwatched: Size) -> Placement {
    let session = snapshot
        .rows
        .iter()
        .find(|row| row.session_name == OWN_SESSION);
    match session {
        Some(row) => further_window(snapshot, &row.session, team, None, Some(unwatched)),
        None => Placement::Session,
    }
}

/// Selects the first window of this team with enough room, otherwise a new one.
pub(crate) fn further_window(
    snapshot: &Snapshot,
    session: &str,
    team: &TeamName,
    lead: Option<&PaneId>,
    unwatched: Option<Size>,
) -> Placement {
    let windows = snapshot.windows(session);
    let ours: Vec<_> = windows
        .iter()
        .filter(|panes| window_kind(panes, lead) == WindowKind::Ours)
        .collect();
    let with_room = ours.iter().find_map(|panes| {
        let last = panes.last()?;
        let same_team = panes
            .iter()
            .all(|row| row.tag.as_ref().is_some_and(|tag| tag.team == *team));
        let room = Arrangement::that_fits(room_of(last, unwatched), panes.len() + 1).is_some();
        (same_team && room && !last.is_zoomed()).then_some(last)
    });
    match with_room {
        Some(last) => Placement::Split {
            pane: last.id.clone(),
            columns: None,
        },
        None => Placement::Window {
            session: session.to_owned(),
            number: ours.len() + 1,
        },
    }
}

/// Returns the size that a pane's window has or may get.
fn room_of(row: &PaneRow, unwatched: Option<Size>) -> Size {
    match unwatched {
        Some(size) if !row.attached => row.window_size.union(size),
        _ => row.window_size,
    }
}

/// Returns whether a new pane exceeds the room of its window because several processes used it
/// concurrently. The panes that were opened first stay.
pub(crate) fn exceeds_room(
    snapshot: &Snapshot,
    row: &PaneRow,
    lead: Option<&PaneId>,
    unwatched: Option<Size>,
) -> bool {
    let panes = snapshot.window(&row.session, &row.window);
    let earlier = panes
        .iter()
        .filter(|pane| lead != Some(&pane.id) && pane.number() < row.number())
        .count();
    match window_kind(&panes, lead) {
        WindowKind::Shared => false,
        WindowKind::LeadAndOurs => !fits_beside_lead(row.window_size, earlier + 1),
        WindowKind::Ours => {
            let room = room_of(row, unwatched);
            earlier > 0 && Arrangement::that_fits(room, earlier + 1).is_none()
        }
    }
}
