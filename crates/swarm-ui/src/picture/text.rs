//! The picture in characters.

use crate::picture::canvas::{Canvas, Spot};
use crate::picture::window::Window;
use crate::sanitize::clean_line;

/// Windows as boxes of characters, one below the other, each under its name. Without `unicode` the boxes are drawn
/// in ASCII; what the panes show is kept either way.
pub fn text(windows: &[Window], unicode: bool) -> String {
    let drawn: Vec<String> = windows.iter().map(|window| one(window, unicode)).collect();
    drawn.join("\n")
}

fn one(window: &Window, unicode: bool) -> String {
    let canvas = Canvas::framed(window);
    let name = clean_line(&window.name);
    let mut out = if name.is_empty() { name } else { name + "\n" };
    for y in 0..canvas.rows {
        let mut line = String::new();
        let mut x = 0;
        while x < canvas.columns {
            x += push_spot(&mut line, &canvas, (x, y), unicode);
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
    let status = clean_line(&window.status);
    if !status.is_empty() {
        out.push_str(&status);
        out.push('\n');
    }
    out
}

/// Writes what is at a place; returns how many columns it takes.
fn push_spot(line: &mut String, canvas: &Canvas, (x, y): (usize, usize), unicode: bool) -> usize {
    match canvas.spot(x, y) {
        Spot::Border(arms, _) => line.push(arms.character(unicode)),
        Spot::Cell(cell) if cell.text.is_empty() => line.push(' '),
        Spot::Cell(cell) => {
            line.push_str(&cell.text);
            return cell.columns();
        }
    }
    1
}
