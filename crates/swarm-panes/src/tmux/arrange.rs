//! How a window of ours is divided and what its borders say.
//!
//! A window of the user's gets window options only while teammates stand in it, and none that the user has set on it;
//! which ones is noted on the window (`@swarm_set`), so that whoever closes the last teammate takes them off again.

use swarm_protocol::PaneId;
use tmux_interface::{ResizePane, SetOption, ShowOptions, TmuxCommand};

use super::batch::Batch;
use super::commands::{select_layout, set_on_window, unset_on_window};
use super::own_server::{UNWATCHED, fix_size, note_needs};
use super::placement::{Territory, territory};
use super::server::Server;
use super::snapshot::{PaneRow, Snapshot};
use crate::layout::lead_columns;
use crate::{Arrangement, PaneError};

/// Notes on a window which options swarm has set there.
const NOTE: &str = "@swarm_set";

/// The options by which a window shows its members' titles and colours. tmux 3.3a draws borders by window options
/// only, but expands them for each pane.
const STATUS: &str = "pane-border-status";
const STYLES: [&str; 2] = ["pane-border-style", "pane-active-border-style"];

/// Whose server it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Owner {
    /// The user's: sizes are theirs.
    User,
    /// Ours: sizes are set.
    Swarm,
}

/// The commands that divide a window anew after a pane came or went. None for a window that others have panes in, or
/// that somebody has zoomed.
pub(crate) fn divide(
    panes: &[&PaneRow],
    lead: Option<&PaneId>,
    owner: Owner,
) -> Vec<TmuxCommand<'static>> {
    let Some(first) = panes.first().filter(|first| !first.zoomed) else {
        return Vec::new();
    };
    match territory(panes, lead) {
        Territory::Shared => Vec::new(),
        Territory::LeadAndOurs if panes.len() == 1 => Vec::new(),
        Territory::LeadAndOurs => vec![
            select_layout(&first.id, "main-vertical"),
            // Instead of `main-pane-width`, which is an option that the user may have set.
            ResizePane::new()
                .target_pane(first.id.as_str().to_owned())
                .width(lead_columns(first.window_size).to_string())
                .build(),
        ],
        Territory::Ours => divide_ours(first, panes.len(), owner),
    }
}

fn divide_ours(first: &PaneRow, panes: usize, owner: Owner) -> Vec<TmuxCommand<'static>> {
    let mut commands = Vec::new();
    let mut size = first.window_size;
    if owner == Owner::Swarm {
        if !first.attached || Arrangement::that_fits(size, panes).is_none() {
            size = size.union(UNWATCHED);
        }
        commands.extend(fix_size(&first.window, size));
        commands.extend(note_needs(&first.window, panes));
    }
    if panes > 1 {
        let arrangement = Arrangement::that_fits(size, panes).unwrap_or(Arrangement::Tiled);
        commands.push(select_layout(&first.id, arrangement.layout_name()));
    }
    commands
}

/// The commands that make a window show titles and colours, if that has not been done.
///
/// # Errors
/// [`PaneError`] when the server does not answer.
pub(crate) async fn frame(
    server: &Server,
    panes: &[&PaneRow],
) -> Result<Vec<TmuxCommand<'static>>, PaneError> {
    let Some(first) = panes.first().filter(|first| first.options_set.is_empty()) else {
        return Ok(Vec::new());
    };
    let local = ShowOptions::new()
        .window()
        .target_pane(first.id.as_str().to_owned())
        .build();
    let local = server.run(&Batch::new().then(&local)).await?;
    let is_free = |option: &str| {
        !local
            .lines()
            .any(|line| line.split_ascii_whitespace().next() == Some(option))
    };
    let mut commands = Vec::new();
    let mut set = vec![NOTE];
    if first.border_status == "off" && is_free(STATUS) {
        set.push(STATUS);
        commands.push(set_on_window(&first.window, STATUS, "top"));
    }
    for style in STYLES.into_iter().filter(|style| is_free(style)) {
        set.push(style);
        commands.push(members_style(&first.window, style));
    }
    commands.push(set_on_window(&first.window, NOTE, &set.join(" ")));
    Ok(commands)
}

/// Sets a border style to the member's colour for a member's pane, and to what it was for every other.
fn members_style(window: &str, style: &'static str) -> TmuxCommand<'static> {
    SetOption::new()
        .window()
        // Expanded once at this moment: `##` stays as `#`, the value in force goes in as it is.
        .format()
        .target_pane(window.to_owned())
        .option(style)
        .value(format!(
            "##{{?@swarm_style,fg=##{{@swarm_style}},#{{{style}}}}}"
        ))
        .build()
}

/// The commands that take our options off every window in which no teammate is left.
pub(crate) fn unframe(snapshot: &Snapshot) -> Vec<TmuxCommand<'static>> {
    let mut commands = Vec::new();
    let mut seen: Vec<&str> = Vec::new();
    for row in snapshot
        .rows
        .iter()
        .filter(|row| !row.options_set.is_empty())
    {
        let inhabited = snapshot
            .rows
            .iter()
            .any(|other| other.window == row.window && other.tag.is_some());
        if inhabited || seen.contains(&row.window.as_str()) {
            continue;
        }
        seen.push(&row.window);
        let ours = |option: &&str| *option == NOTE || *option == STATUS || STYLES.contains(option);
        commands.extend(
            row.options_set
                .split(' ')
                .filter(ours)
                .map(|option| unset_on_window(&row.window, option)),
        );
    }
    commands
}
