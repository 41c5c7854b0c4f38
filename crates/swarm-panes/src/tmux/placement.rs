//! Where a new pane goes: a decision from a snapshot, without asking tmux.

use swarm_protocol::{PaneId, TeamName};

use super::commands::Split;
use super::own_server::OWN_SESSION;
use super::snapshot::{PaneRow, Snapshot};
use crate::layout::{fits_beside_lead, lead_columns};
use crate::{Arrangement, MINIMUM_PANE, Place, Size};

/// Where the new pane is to come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Placement {
    /// Split this pane.
    Split {
        /// The pane that gives room.
        pane: PaneId,
        /// Right with so many columns, or none for below.
        columns: Option<u16>,
    },
    /// A further window in this session.
    Window {
        /// Its id, `$0`.
        session: String,
        /// How many windows of teammates the session has by then.
        number: usize,
    },
    /// The first session of our own server.
    Session,
}

impl Placement {
    /// The split as the command builder takes it.
    pub(crate) fn split_of(columns: Option<u16>) -> Split {
        columns.map_or(Split::Below, Split::Right)
    }
}

/// The lead's pane and what the user wants around it.
#[derive(Debug, Clone)]
pub(crate) struct Lead {
    /// From `TMUX_PANE`.
    pub(crate) pane: PaneId,
    /// The setting.
    pub(crate) place: Place,
}

impl Lead {
    /// Whether panes stand beside the lead or not at all.
    pub(crate) fn insists(&self) -> bool {
        self.place == Place::Split
    }
}

/// What a window is to us.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Territory {
    /// The lead on the left and nothing but our panes on its right: we arrange it.
    LeadAndOurs,
    /// Nothing but panes of one team: we arrange it.
    Ours,
    /// It holds panes that are not ours, or the user has moved the lead: nothing is arranged.
    Shared,
}

/// What the window with these panes, in their order, is to us.
pub(crate) fn territory(panes: &[&PaneRow], lead: Option<&PaneId>) -> Territory {
    let is_lead = |row: &PaneRow| lead == Some(&row.id);
    let Some((first, others)) = panes.split_first() else {
        return Territory::Shared;
    };
    let all_ours = others.iter().all(|row| row.is_ours() && !is_lead(row));
    if !all_ours {
        Territory::Shared
    } else if is_lead(first) {
        Territory::LeadAndOurs
    } else if first.is_ours() {
        Territory::Ours
    } else {
        Territory::Shared
    }
}

/// Why a pane does not go beside the lead, as the rest of a sentence about the lead's window.
pub(crate) type WhyNot = &'static str;

/// What is said where another pane would leave one that cannot be read.
pub(crate) const NO_ROOM: WhyNot = "has no room for another pane of 60 columns and 8 rows";

/// Where a pane of `team` goes in the user's tmux, and why not beside the lead where it does not. None when the
/// lead's pane is not there.
pub(crate) fn in_users_tmux(
    snapshot: &Snapshot,
    lead: &Lead,
    team: &TeamName,
) -> Option<(Placement, Option<WhyNot>)> {
    let lead_row = snapshot.pane(&lead.pane)?;
    Some(match beside_lead(snapshot, lead, lead_row) {
        Ok(split) => (split, None),
        Err(why) => {
            let window = further_window(snapshot, &lead_row.session, team, Some(&lead.pane), None);
            (window, Some(why))
        }
    })
}

fn beside_lead(snapshot: &Snapshot, lead: &Lead, row: &PaneRow) -> Result<Placement, WhyNot> {
    let window = snapshot.window(&row.session, &row.window);
    let is_lead = |pane: &PaneRow| pane.id == lead.pane;
    match (lead.place, territory(&window, Some(&lead.pane))) {
        (Place::Window | Place::Hidden, _) => Err("is to be left alone (`tmux.place`)"),
        _ if row.is_zoomed() => Err("is zoomed"),
        (_, Territory::LeadAndOurs) => split_arranged(row, &window).ok_or(NO_ROOM),
        (Place::Split, _) => split_shared(row, &window).ok_or(NO_ROOM),
        (Place::Auto, _) if window.iter().all(|pane| is_lead(pane) || pane.is_ours()) => {
            Err("has been arranged otherwise")
        }
        (Place::Auto, _) => Err("holds other panes as well"),
    }
}

/// In a window that we arrange: beside the lead, then below the last teammate; the arrangement evens it out.
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

/// In a window with panes of others: only the lead's pane and ours give room.
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

/// Columns right of the lead and the border.
fn right_of_lead(size: Size) -> u16 {
    size.columns.saturating_sub(lead_columns(size) + 1)
}

/// Where a pane of `team` goes on our own server. `unwatched` is the size that a window may be grown to while nobody
/// looks.
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

/// In the first window of this team that has room, else in another one.
fn further_window(
    snapshot: &Snapshot,
    session: &str,
    team: &TeamName,
    lead: Option<&PaneId>,
    unwatched: Option<Size>,
) -> Placement {
    let windows = snapshot.windows(session);
    let ours: Vec<_> = windows
        .iter()
        .filter(|panes| territory(panes, lead) == Territory::Ours)
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

/// The size that a pane's window has or may be given.
fn room_of(row: &PaneRow, unwatched: Option<Size>) -> Size {
    match unwatched {
        Some(size) if !row.attached => row.window_size.union(size),
        _ => row.window_size,
    }
}

/// Whether a new pane is one too many for its window, because several processes took the same room at one time. The
/// ones that came first stay.
pub(crate) fn is_one_too_many(
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
    match territory(&panes, lead) {
        Territory::Shared => false,
        Territory::LeadAndOurs => !fits_beside_lead(row.window_size, earlier + 1),
        Territory::Ours => {
            let room = room_of(row, unwatched);
            earlier > 0 && Arrangement::that_fits(room, earlier + 1).is_none()
        }
    }
}
