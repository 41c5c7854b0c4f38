//! Parses an answer of tmux without a server, for fuzzing.

use swarm_protocol::TeamName;

use super::arrange::{self, Owner};
use super::own_server::UNWATCHED;
use super::placement::{Lead, exceeds_room, in_users_tmux, on_own_server};
use super::snapshot::Snapshot;
use super::verbs::tagged;
use crate::{PaneError, PanePlacement, TaggedPane};

/// Parses tmux's list of panes as a backend does and returns the panes of swarm. For each pane in
/// the role of the lead it also selects the position of the next pane of `team` and the window
/// layout. Used to test the effects of unusual answers and options.
///
/// # Errors
/// [`PaneError::Unreadable`] if the answer cannot be parsed.
pub fn replay_panes(answer: &str, team: &TeamName) -> Result<Vec<TaggedPane>, PaneError> {
    let snapshot = Snapshot::parse(answer)?;
    for row in &snapshot.rows {
        let window = snapshot.window(&row.session, &row.window);
        for place in [PanePlacement::Auto, PanePlacement::Split] {
            let lead = Lead {
                pane: row.id.clone(),
                place,
            };
            drop(in_users_tmux(&snapshot, &lead, team));
        }
        for (lead, owner) in [(Some(&row.id), Owner::User), (None, Owner::Swarm)] {
            let unwatched = (owner == Owner::Swarm).then_some(UNWATCHED);
            exceeds_room(&snapshot, row, lead, unwatched);
            drop(arrange::arrange_window(&window, lead, owner));
        }
    }
    drop(on_own_server(&snapshot, team, UNWATCHED));
    drop(arrange::remove_options(&snapshot));
    Ok(tagged(&snapshot, None))
}
