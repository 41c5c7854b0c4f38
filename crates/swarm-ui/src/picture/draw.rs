//! Renders windows as characters and as SVG.

use std::fmt::Write as _;
use std::time::Duration;

use crate::picture::canvas::{BORDERS, Canvas, Frame, Window, color};
use crate::sanitize::clean_line;

/// How long a recording shows its last frame.
const LAST_FRAME: Duration = Duration::from_secs(4);

/// Renders the windows as boxes of characters, one below the other, each under its name.
pub fn text(windows: &[Window]) -> String {
    drawn(windows, |canvas, y| {
        let mut line = String::new();
        for x in 0..canvas.columns {
            match canvas.cell_at(x, y) {
                Ok(cell) => line.push_str(&cell.text),
                Err((arms, _)) => line.push(BORDERS[*arms]),
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
                Err((arms, of)) => (BORDERS[*arms].to_string(), color(*of)),
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

/// Renders frames as one SVG document that shows them one after another, again and again. Where the
/// viewer wants no motion, the last frame is shown.
pub fn recording(frames: &[Frame]) -> String {
    let (Some(first), Some(last)) = (frames.first(), frames.last()) else {
        return svg(&[]);
    };
    let duration = (last.at.saturating_sub(first.at) + LAST_FRAME).as_secs_f64();
    let percent = |at: Duration| at.saturating_sub(first.at).as_secs_f64() / duration * 100.0;
    let pictures: Vec<String> = frames.iter().map(|frame| svg(&frame.windows)).collect();
    let size = |name: &str| {
        let sizes = pictures.iter().filter_map(|picture| length(picture, name));
        sizes.max().unwrap_or_default()
    };
    let mut out = format!(
        "<svg width=\"{}px\" height=\"{}px\" xmlns=\"http://www.w3.org/2000/svg\">\n<style>\n\
         .frame {{ visibility: hidden; animation: {duration:.2}s step-end infinite }}\n",
        size("width"),
        size("height"),
    );
    for (number, frame) in frames.iter().enumerate() {
        let from = percent(frame.at);
        let until = frames
            .get(number + 1)
            .map_or(100.0, |next| percent(next.at));
        let _infallible = writeln!(
            out,
            "@keyframes f{number} {{ 0% {{ visibility: hidden }} {from:.3}% {{ visibility: visible }} \
             {until:.3}% {{ visibility: hidden }} }}"
        );
    }
    out.push_str(
        "@media (prefers-reduced-motion: reduce) { .frame { animation: none } \
         .frame:last-child { visibility: visible } }\n</style>\n",
    );
    for (number, picture) in pictures.iter().enumerate() {
        let _infallible = writeln!(
            out,
            "<g class=\"frame\" style=\"animation-name: f{number}\">\n{picture}</g>"
        );
    }
    out + "</svg>\n"
}

/// Returns a length of an SVG document in pixels.
fn length(svg: &str, name: &str) -> Option<u32> {
    let after = svg.split_once(&format!("{name}=\""))?.1;
    after.split_once("px")?.0.parse().ok()
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
