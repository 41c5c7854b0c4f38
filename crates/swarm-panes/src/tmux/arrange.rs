//! Window layout and border text.
//!
//! A window of the user gets window options only while it contains teammates, and only options that
//! the user has not set on it. They are listed in a window option (`@swarm_set`), so that any
//! process that closes the last teammate can remove them.

use swarm_protocol::{MemberName, PaneId};
use tmux_interface::{IfShell, ResizePane, SetOption, TmuxCommand};

use super::commands::{select_layout, set_on_pane, set_on_window, unset_on_pane, unset_on_window};
use super::facts::{FORMAT, WindowFacts};
use super::grid;
use super::own_server::{UNWATCHED, fix_size, note_needs};
use super::placement::{WindowKind, window_kind};
use super::snapshot::{PaneRow, Snapshot};
use crate::layout::{columns_beside_lead, even_rows, lead_columns};
use crate::{Arrangement, PaneSpec, Size};

/// Window option that lists the options swarm has set on the window.
const OPTIONS_SET: &str = "@swarm_set";

/// Options that make a window show its members' titles and colours. tmux 3.3a supports border
/// options only per window, but expands them for each pane.
const STATUS: &str = "pane-border-status";
const STYLES: [&str; 2] = ["pane-border-style", "pane-active-border-style"];

/// Pane option that lists the options swarm has set on the lead's pane.
const LEAD_OPTIONS_SET: &str = "@swarm_signed";

/// tmux's default border text, which contains the pane's index and usually the host name.
const DEFAULT_FORMAT: &str =
    r##"#{?pane_active,#[reverse],}#{pane_index}#[default] "#{pane_title}""##;

/// Suffix of the default since tmux 3.7: buttons for the mouse.
const DEFAULT_BUTTONS: &str = "#{?#{mouse},";

/// Owner of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Owner {
    /// The user's server; sizes are not changed.
    User,
    /// swarm's own server; sizes are set.
    Swarm,
}

/// Returns the commands that rearrange a window after a pane was opened or closed; none for a
/// window that contains other panes or is zoomed.
pub(crate) fn arrange_window(
    panes: &[&PaneRow],
    lead: Option<&PaneId>,
    owner: Owner,
) -> Vec<TmuxCommand<'static>> {
    let Some(first) = panes.first().filter(|first| !first.is_zoomed()) else {
        return Vec::new();
    };
    match window_kind(panes, lead) {
        WindowKind::Shared => Vec::new(),
        WindowKind::LeadAndOurs if panes.len() == 1 => Vec::new(),
        WindowKind::LeadAndOurs => {
            let columns = columns_beside_lead(first.window_size, panes.len() - 1);
            if let Some(columns @ 2..) = columns {
                return vec![grid::arrange(first, &panes[1..], columns)];
            }
            // Not `main-pane-width`: the user may have set that option.
            let lead = ResizePane::new()
                .target_pane(first.id.as_str().to_owned())
                .width(lead_columns(first.window_size).to_string())
                .build();
            let mut commands = vec![select_layout(&first.id, "main-vertical"), lead];
            commands.extend(equalize(&panes[1..], first.window_size, panes.len()));
            commands
        }
        WindowKind::Ours => arrange_own_window(first, panes, owner),
    }
}

fn arrange_own_window(
    first: &PaneRow,
    panes: &[&PaneRow],
    owner: Owner,
) -> Vec<TmuxCommand<'static>> {
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
            commands.extend(equalize(panes, size, panes.len()));
        }
    }
    commands
}

/// Returns the command that gives the panes of a stack equal heights if the window still has the
/// expected number of panes: another process may have opened or moved one meanwhile, which only
/// tmux's own layouts notice.
fn equalize(stack: &[&PaneRow], window: Size, panes: usize) -> Option<TmuxCommand<'static>> {
    let rows = even_rows(window, stack.len());
    let resizes: Vec<String> = stack
        .iter()
        .zip(rows)
        .map(|(pane, rows)| format!("resize-pane -t {} -y {rows}", pane.id))
        .collect();
    let first = stack.first().filter(|_| !resizes.is_empty())?;
    // The command string contains only numbers and ids from tmux.
    let command = IfShell::new()
        .not_execute()
        .target_pane(first.id.as_str().to_owned())
        .shell_command(format!("#{{==:#{{window_panes}},{panes}}}"))
        .command(resizes.join(" ; "))
        .build();
    Some(command)
}

/// Returns the commands that make a window show titles and colours, unless that was done before.
/// Requires the window's own options in `facts`; without them nothing is set.
pub(crate) fn show_titles(panes: &[&PaneRow], facts: &WindowFacts) -> Vec<TmuxCommand<'static>> {
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
    let mut set = vec![OPTIONS_SET];
    if first.border_status == "off" && is_free(STATUS) {
        set.push(STATUS);
        commands.push(set_on_window(&first.window, STATUS, "top"));
    }
    for style in STYLES.into_iter().filter(|style| is_free(style)) {
        set.push(style);
        commands.push(members_style(&first.window, style));
    }
    commands.push(set_on_window(&first.window, OPTIONS_SET, &set.join(" ")));
    commands
}

/// Returns the commands that label the lead on the border of its pane, unless that was done before
/// or the user has customized the border text.
pub(crate) fn label_lead(
    lead: &PaneRow,
    spec: &PaneSpec,
    facts: &WindowFacts,
) -> Vec<TmuxCommand<'static>> {
    let wording = facts
        .wording
        .as_deref()
        .map(|wording| wording.trim_end_matches('\n'));
    let is_to_be_signed = lead.tag.is_none() && lead.signed.is_empty();
    if !is_to_be_signed || !wording.is_some_and(is_default) {
        return Vec::new();
    }
    // No colour: red suggests an error, and the other colours belong to teammates.
    let words = format!(
        "#[bold]#{{?pane_active,#[reverse],}} {} #[default]· {} #[default]",
        MemberName::lead(),
        spec.team,
    );
    vec![
        set_on_pane(&lead.id, FORMAT, &words),
        set_on_pane(&lead.id, LEAD_OPTIONS_SET, FORMAT),
    ]
}

/// Returns whether a border text is tmux's default.
fn is_default(format: &str) -> bool {
    format
        .strip_prefix(DEFAULT_FORMAT)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with(DEFAULT_BUTTONS))
}

/// Sets a border style to the member's colour for members' panes; other panes keep their style.
fn members_style(window: &str, style: &'static str) -> TmuxCommand<'static> {
    SetOption::new()
        .window()
        // Expanded once now: `##` remains as `#`, and the current value is inserted.
        .format()
        .target_pane(window.to_owned())
        .option(style)
        .value(format!(
            "##{{?@swarm_style,fg=##{{@swarm_style}},#{{{style}}}}}"
        ))
        .build()
}

/// Returns the commands that remove swarm's options from every window without teammates and from
/// the lead's pane there.
pub(crate) fn remove_options(snapshot: &Snapshot) -> Vec<TmuxCommand<'static>> {
    let is_inhabited = |window: &str| {
        let mut rows = snapshot.rows.iter();
        rows.any(|row| row.window == window && row.tag.is_some())
    };
    let mut commands = Vec::new();
    for row in snapshot.rows.iter().filter(|row| !row.signed.is_empty()) {
        if !is_inhabited(&row.window) {
            commands
                .extend([FORMAT, LEAD_OPTIONS_SET].map(|option| unset_on_pane(&row.id, option)));
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
        let ours =
            |option: &&str| *option == OPTIONS_SET || *option == STATUS || STYLES.contains(option);
        commands.extend(
            row.options_set
                .split(' ')
                .filter(ours)
                .map(|option| unset_on_window(&row.window, option)),
        );
    }
    commands
}
