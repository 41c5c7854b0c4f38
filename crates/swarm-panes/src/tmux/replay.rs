//! An answer of tmux, read apart from any tmux.

use swarm_protocol::TeamName;

use super::arrange::{self, Owner};
use super::own_server::UNWATCHED;
use super::placement::{Lead, in_users_tmux, is_one_too_many, on_own_server};
use super::snapshot::Snapshot;
use super::verbs::tagged;
use crate::{PaneError, Place, TaggedPane};

/// Reads what tmux answers to the question for its panes as a backend does that has asked: the panes that are swarm's. With
/// each pane in the lead's place it is decided, too, where the next one of `team` goes and how windows are divided. To try
/// what a tmux, or options that somebody has set there, might make of an answer.
///
/// # Errors
/// [`PaneError::Unreadable`].
pub fn replay_panes(answer: &str, team: &TeamName) -> Result<Vec<TaggedPane>, PaneError> {
    let snapshot = Snapshot::parse(answer)?;
    for row in &snapshot.rows {
        let window = snapshot.window(&row.session, &row.window);
        for place in [Place::Auto, Place::Split] {
            let lead = Lead {
                pane: row.id.clone(),
                place,
            };
            drop(in_users_tmux(&snapshot, &lead, team));
        }
        for (lead, owner) in [(Some(&row.id), Owner::User), (None, Owner::Swarm)] {
            let unwatched = (owner == Owner::Swarm).then_some(UNWATCHED);
            is_one_too_many(&snapshot, row, lead, unwatched);
            drop(arrange::divide(&window, lead, owner));
        }
    }
    drop(on_own_server(&snapshot, team, UNWATCHED));
    drop(arrange::unframe(&snapshot));
    Ok(tagged(&snapshot, None))
}
