//! The colours of the main screens, which are readable on light and on dark backgrounds.

use std::time::Duration;

use swarm_protocol::AgentEvent;
use vt100::{Cell, Color};

use super::{Emulator, Lead, dialog, team, turn};

/// A link, a quotation, and a difference in a code block.
const CHANGE: &str = "See [the notes](notes/import.md) and *both* files:\n\n> measured twice\n\n\
```diff\n@@ -17 +17 @@\n fn scan(path: &Path) {\n-    count_lines(path);\n+    load(path);\n```\n";

impl Emulator {
    /// Returns the content of the screen with the style in front of each part that has another one.
    ///
    /// # Panics
    /// If a part is readable on one background only.
    fn styled(&self) -> String {
        let parser = self.0.lock();
        let screen = parser.screen();
        let (rows, columns) = screen.size();
        let mut lines = Vec::new();
        for row in 0..rows.get() {
            let (mut line, mut last) = (String::new(), String::new());
            for cell in (0..columns.get()).filter_map(|column| screen.cell(row, column)) {
                let style = style(cell);
                assert!(is_readable(cell), "{style}: {}", cell.contents());
                if style != last {
                    line.extend(["‹", style.as_str(), "›"]);
                    last = style;
                }
                line += if cell.has_contents() {
                    cell.contents()
                } else {
                    " "
                };
            }
            lines.push(line.trim_end().to_owned());
        }
        lines.join("\n").trim_end().to_owned()
    }
}

fn style(cell: &Cell) -> String {
    let colour = |kind: &str, colour| match colour {
        Color::Default => None,
        Color::Idx(number) => Some(format!("{kind}{number}")),
        Color::Rgb(..) => Some(format!("{kind}rgb")),
    };
    let flags = [
        ("bold", cell.bold()),
        ("dim", cell.dim()),
        ("italic", cell.italic()),
        ("reverse", cell.inverse()),
    ];
    let flags = flags.into_iter().filter(|(_, is_set)| *is_set);
    let parts = flags.map(|(flag, _)| flag.to_owned());
    let parts = parts.chain(colour("", cell.fgcolor()));
    parts
        .chain(colour("on ", cell.bgcolor()))
        .collect::<Vec<_>>()
        .join(" ")
}

/// White, black and bright colours of the palette are readable on one background only, unless both
/// colours are set. 205 and 208 are those of agents.
fn is_readable(cell: &Cell) -> bool {
    matches!(
        (cell.fgcolor(), cell.bgcolor()),
        (
            Color::Default | Color::Idx(1..=6 | 205 | 208),
            Color::Default
        ) | (Color::Idx(_), Color::Idx(_))
    )
}

fn lead() -> Lead {
    Lead::on((80, 24), true)
}

#[test]
fn a_turn_has_its_colours() {
    let mut lead = lead();
    lead.events(turn());
    insta::assert_snapshot!("turn", lead.emulator.styled());
    let said = |text: &str| AgentEvent::MessageDone {
        text: text.to_owned(),
    };
    lead.events(vec![said(CHANGE)]);
    insta::assert_snapshot!("difference", lead.emulator.styled());
}

#[test]
fn a_dialog_is_the_strongest_mark_on_the_screen() {
    let mut lead = lead();
    lead.events(turn());
    lead.console.ask(Some(dialog()), Duration::ZERO);
    insta::assert_snapshot!("dialog", lead.emulator.styled());
}

#[test]
fn a_panel_has_the_colours_of_the_members() {
    let lead = lead();
    lead.console.set_team(team());
    lead.console.open_team(false);
    insta::assert_snapshot!("panel", lead.emulator.styled());
}
