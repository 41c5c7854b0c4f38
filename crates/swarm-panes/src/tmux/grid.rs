//! The lead on the left and a grid of teammates on its right, which none of tmux's layouts is.

use swarm_protocol::PaneId;
use tmux_interface::{IfShell, TmuxCommand};

use super::snapshot::PaneRow;
use crate::Size;
use crate::layout::lead_columns;

/// Returns the command that arranges the lead and `teammates` in a grid of this many columns, if
/// the window still has these panes.
pub(super) fn arrange(
    lead: &PaneRow,
    teammates: &[&PaneRow],
    columns: usize,
) -> TmuxCommand<'static> {
    let ids: Vec<&str> = teammates.iter().map(|row| number(&row.id)).collect();
    let layout = layout(lead.window_size, number(&lead.id), &ids, columns);
    // The command string contains only numbers and ids from tmux.
    IfShell::new()
        .not_execute()
        .target_pane(lead.id.as_str().to_owned())
        .shell_command(format!("#{{==:#{{window_panes}},{}}}", teammates.len() + 1))
        .command(format!("select-layout -t {} '{layout}'", lead.id))
        .build()
}

fn number(pane: &PaneId) -> &str {
    pane.as_str().trim_start_matches('%')
}

/// Returns the layout in tmux's format (`layout-custom.c`): a checksum, and a tree of cells with
/// their size, position and pane. `{}` are cells side by side, `[]` one above the other.
fn layout(window: Size, lead: &str, teammates: &[&str], columns: usize) -> String {
    let lead_width = usize::from(lead_columns(window));
    let (width, height) = (usize::from(window.columns), usize::from(window.rows));
    let (left, room) = (lead_width + 1, width - lead_width - 1);
    let rows: Vec<&[&str]> = teammates.chunks(columns.max(1)).collect();
    let right = match rows.as_slice() {
        [row] => side_by_side(row, [room, height, left, 0]),
        rows => {
            let mut top = 0;
            let mut cells = Vec::new();
            // Each row of panes has a row with titles: the border, and in the first one a row of
            // its own.
            for (row, share) in rows.iter().zip(shares(height - rows.len(), rows.len())) {
                let tall = share + usize::from(top == 0);
                let panes = side_by_side(row, [room, tall, left, top]);
                cells.push(match row {
                    [_] => panes,
                    _ => format!("{room}x{tall},{left},{top}{{{panes}}}"),
                });
                top += tall + 1;
            }
            format!("{room}x{height},{left},0[{}]", cells.join(","))
        }
    };
    let tree = format!("{width}x{height},0,0{{{lead_width}x{height},0,0,{lead},{right}}}");
    format!("{:04x},{tree}", checksum(&tree))
}

/// Returns cells side by side in an area: width, height, left, top.
fn side_by_side(panes: &[&str], [room, tall, left, top]: [usize; 4]) -> String {
    let mut at = left;
    let widths = shares(room - (panes.len() - 1), panes.len());
    let cells = panes.iter().zip(widths).map(|(pane, wide)| {
        let cell = format!("{wide}x{tall},{at},{top},{pane}");
        at += wide + 1;
        cell
    });
    cells.collect::<Vec<_>>().join(",")
}

/// Divides a length so that no two parts differ by more than one.
fn shares(length: usize, parts: usize) -> impl Iterator<Item = usize> {
    let parts = parts.max(1);
    let (each, over) = (length / parts, length % parts);
    (0..parts).map(move |at| each + usize::from(at < over))
}

fn checksum(layout: &str) -> u16 {
    layout.bytes().fold(0, |sum: u16, byte| {
        sum.rotate_right(1).wrapping_add(u16::from(byte))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_layout_is_in_the_format_of_tmux() {
        // As tmux 3.3a prints this window (`#{window_layout}`).
        assert_eq!(checksum("80x24,0,0,0"), 0xb25d);
        let grid = layout(Size::new(200, 50), "0", &["1", "2", "3", "4", "5"], 2);
        assert_eq!(
            grid.split_once(',').unwrap().1,
            "200x50,0,0{60x50,0,0,0,139x50,61,0[\
             139x17,61,0{69x17,61,0,1,69x17,131,0,2},\
             139x16,61,18{69x16,61,18,3,69x16,131,18,4},\
             139x15,61,35,5]}"
        );
        let one_row = layout(Size::new(200, 12), "0", &["1", "2"], 2);
        assert_eq!(
            one_row.split_once(',').unwrap().1,
            "200x12,0,0{60x12,0,0,0,69x12,61,0,1,69x12,131,0,2}"
        );
    }
}
