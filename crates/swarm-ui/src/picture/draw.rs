//! Renders windows as characters and as SVG.

use std::fmt::Write as _;

use crate::picture::canvas::{Canvas, color};
use crate::picture::window::Window;
use crate::sanitize::clean_line;

/// Renders the windows as boxes of characters, one below the other, each under its name. Without
/// `unicode` the boxes are drawn in ASCII; the content of the panes is unchanged.
pub fn text(windows: &[Window], unicode: bool) -> String {
    drawn(windows, |canvas, y| {
        let mut line = String::new();
        for x in 0..canvas.columns {
            match canvas.cell_at(x, y) {
                Ok(cell) => line.push_str(&cell.text),
                Err((arms, _)) => line.push(arms.character(unicode)),
            }
        }
        line
    })
}

/// Renders the windows as an SVG document with the terminal's colours.
pub fn svg(windows: &[Window]) -> String {
    let styled = drawn(windows, |canvas, y| {
        let mut line = String::new();
        let mut style = anstyle::Style::new();
        for x in 0..canvas.columns {
            let (text, of) = match canvas.cell_at(x, y) {
                Ok(cell) => (cell.text.clone(), cell.style),
                Err((arms, of)) => (arms.character(true).to_string(), color(*of)),
            };
            if of != style {
                // Writing into a String cannot fail.
                let _infallible = write!(line, "{style:#}{of}");
                style = of;
            }
            line.push_str(&text);
        }
        let _infallible = write!(line, "{style:#}");
        line
    });
    // XML does not permit these two characters in any form.
    let styled = styled.replace(['\u{fffe}', '\u{ffff}'], "\u{fffd}");
    anstyle_svg::Term::new()
        .palette(anstyle_svg::WIN10_CONSOLE)
        .render_svg(&styled)
}

fn drawn(windows: &[Window], line: impl Fn(&Canvas, usize) -> String) -> String {
    let one = |window: &Window| {
        let canvas = Canvas::of(window);
        let mut lines = Vec::new();
        lines.extend(Some(clean_line(&window.name)).filter(|name| !name.is_empty()));
        lines.extend((0..canvas.rows).map(|y| line(&canvas, y).trim_end().to_owned()));
        lines.extend(Some(clean_line(&window.status)).filter(|status| !status.is_empty()));
        lines.join("\n") + "\n"
    };
    windows.iter().map(one).collect::<Vec<_>>().join("\n")
}
