//! How a window of ours is divided and what its borders say.
//!
//! A window of the user's gets window options only while teammates stand in it, and none that the user has set on it;
//! which ones is noted on the window (`@swarm_set`), so that whoever closes the last teammate takes them off again.

use swarm_protocol::{MemberName, PaneId};
use tmux_interface::{IfShell, ResizePane, SetOption, TmuxCommand};

use super::commands::{select_layout, set_on_pane, set_on_window, unset_on_pane, unset_on_window};
use super::facts::{FORMAT, Facts};
use super::own_server::{UNWATCHED, fix_size, note_needs};
use super::placement::{Territory, territory};
use super::snapshot::{PaneRow, Snapshot};
use crate::layout::{even_rows, lead_columns};
use crate::{Arrangement, PaneSpec, Size};

/// Notes on a window which options swarm has set there.
const NOTE: &str = "@swarm_set";

/// The options by which a window shows its members' titles and colours. tmux 3.3a draws borders by window options
/// only, but expands them for each pane.
const STATUS: &str = "pane-border-status";
const STYLES: [&str; 2] = ["pane-border-style", "pane-active-border-style"];

/// Notes on the lead's pane which options swarm has set there.
const SIGNED: &str = "@swarm_signed";

/// tmux's own wording of a border, which says the pane's index and mostly the name of the machine.
const PLAIN_FORMAT: &str =
    r##"#{?pane_active,#[reverse],}#{pane_index}#[default] "#{pane_title}""##;

/// What tmux puts behind that since 3.7: buttons for the mouse.
const PLAIN_BUTTONS: &str = "#{?#{mouse},";

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
    let Some(first) = panes.first().filter(|first| !first.is_zoomed()) else {
        return Vec::new();
    };
    match territory(panes, lead) {
        Territory::Shared => Vec::new(),
        Territory::LeadAndOurs if panes.len() == 1 => Vec::new(),
        Territory::LeadAndOurs => {
            // Instead of `main-pane-width`, which is an option that the user may have set.
            let lead = ResizePane::new()
                .target_pane(first.id.as_str().to_owned())
                .width(lead_columns(first.window_size).to_string())
                .build();
            let mut commands = vec![select_layout(&first.id, "main-vertical"), lead];
            commands.extend(even_out(&panes[1..], first.window_size, panes.len()));
            commands
        }
        Territory::Ours => divide_ours(first, panes, owner),
    }
}

fn divide_ours(first: &PaneRow, panes: &[&PaneRow], owner: Owner) -> Vec<TmuxCommand<'static>> {
    let mut commands = Vec::new();
    let mut size = first.window_size;
    if owner == Owner::Swarm {
        if !first.attached || Arrangement::that_fits(size, panes.len()).is_none() {
            size = size.union(UNWATCHED);
        }
        commands.extend(fix_size(&first.window, size));
        commands.extend(note_needs(&first.window, panes.len()));
    }
    if panes.len() > 1 {
        let arrangement = Arrangement::that_fits(size, panes.len()).unwrap_or(Arrangement::Tiled);
        commands.push(select_layout(&first.id, arrangement.layout_name()));
        if arrangement == Arrangement::Stacked {
            commands.extend(even_out(panes, size, panes.len()));
        }
    }
    commands
}

/// The command that gives the panes of a stack the same number of rows, if the window still has as many panes as the
/// stack was counted with: another process may have opened or moved one meanwhile, which tmux's own layouts notice.
fn even_out(stack: &[&PaneRow], window: Size, panes: usize) -> Option<TmuxCommand<'static>> {
    let rows = even_rows(window, stack.len());
    let resizes: Vec<String> = stack
        .iter()
        .zip(rows)
        .map(|(pane, rows)| format!("resize-pane -t {} -y {rows}", pane.id))
        .collect();
    let first = stack.first().filter(|_| !resizes.is_empty())?;
    // What stands in the command string are numbers and ids that tmux gave.
    let command = IfShell::new()
        .not_execute()
        .target_pane(first.id.as_str().to_owned())
        .shell_command(format!("#{{==:#{{window_panes}},{panes}}}"))
        .command(resizes.join(" ; "))
        .build();
    Some(command)
}

/// The commands that make a window show titles and colours, if that has not been done. What it has of its own must have
/// been asked by then; without an answer nothing is set.
pub(crate) fn frame(panes: &[&PaneRow], facts: &Facts) -> Vec<TmuxCommand<'static>> {
    let unframed = panes.first().filter(|first| first.options_set.is_empty());
    let (Some(first), Some(local)) = (unframed, &facts.options) else {
        return Vec::new();
    };
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
    commands
}

/// The commands that name the lead on the border of its own pane, if that has not been done and the user has not
/// worded borders some other way.
pub(crate) fn sign_lead(
    lead: &PaneRow,
    spec: &PaneSpec,
    facts: &Facts,
) -> Vec<TmuxCommand<'static>> {
    let wording = facts
        .wording
        .as_deref()
        .map(|wording| wording.trim_end_matches('\n'));
    let is_to_be_signed = lead.tag.is_none() && lead.signed.is_empty();
    if !is_to_be_signed || !wording.is_some_and(is_plain) {
        return Vec::new();
    }
    // No colour: red reads as an error, and the others are those of teammates.
    let words = format!(
        "#[bold]#{{?pane_active,#[reverse],}} {} #[default]· {} #[default]",
        MemberName::lead(),
        spec.team,
    );
    vec![
        set_on_pane(&lead.id, FORMAT, &words),
        set_on_pane(&lead.id, SIGNED, FORMAT),
    ]
}

/// Whether a border is worded as tmux itself words it.
fn is_plain(format: &str) -> bool {
    format
        .strip_prefix(PLAIN_FORMAT)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with(PLAIN_BUTTONS))
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

/// The commands that take our options off every window in which no teammate is left, and off the lead's pane there.
pub(crate) fn unframe(snapshot: &Snapshot) -> Vec<TmuxCommand<'static>> {
    let is_inhabited = |window: &str| {
        let mut rows = snapshot.rows.iter();
        rows.any(|row| row.window == window && row.tag.is_some())
    };
    let mut commands = Vec::new();
    for row in snapshot.rows.iter().filter(|row| !row.signed.is_empty()) {
        if !is_inhabited(&row.window) {
            commands.extend([FORMAT, SIGNED].map(|option| unset_on_pane(&row.id, option)));
        }
    }
    let mut seen: Vec<&str> = Vec::new();
    for row in snapshot
        .rows
        .iter()
        .filter(|row| !row.options_set.is_empty())
    {
        if is_inhabited(&row.window) || seen.contains(&row.window.as_str()) {
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
