//! A row of cells as grounds, text and underlines.

use crate::picture::canvas::{Canvas, Spot, hue};
use crate::picture::cell::{Cell, Ink};
use crate::picture::line::Arms;
use crate::picture::palette::{FAINT, TEXT, hex};
use crate::picture::svg::markup::{Markup, Tenths, escaped};
use crate::picture::svg::strokes::{Pen, Strokes};

/// Width of a cell in tenths of a pixel: six tenths of the size of the font, as in most monospaced fonts.
pub(super) const CELL_WIDTH: usize = 84;

/// Height of a cell in tenths of a pixel.
pub(super) const CELL_HEIGHT: usize = 180;

/// From the top of a cell to the base line of its text, in tenths of a pixel.
const BASE_LINE: usize = 132;

/// From the top of a cell to the line under its text, in tenths of a pixel.
const UNDERLINE: usize = 152;

/// First character that the reader's font may lack: it gets a run of its own, so that a glyph of another width moves
/// no other.
const UNUSUAL: char = '\u{250}';

/// Text of one ink in adjacent cells.
struct Run {
    column: usize,
    cells: usize,
    text: String,
    ink: Ink,
}

/// Adds the grounds, texts and underlines of one row, and its lines to `strokes`. `origin` is the top left corner of
/// the canvas.
pub(super) fn row(
    canvas: &Canvas,
    y: usize,
    origin: (usize, usize),
    strokes: &mut Strokes,
    svg: &mut Markup,
) {
    let top = origin.1 + y * CELL_HEIGHT;
    let at = |column: usize| Tenths(origin.0 + column * CELL_WIDTH);
    for (from, to, color) in stretches(canvas, y, Ink::ground_color) {
        let (x, y) = (at(from), Tenths(top));
        let (width, height) = (Tenths((to - from) * CELL_WIDTH), Tenths(CELL_HEIGHT));
        svg.add(format_args!(
            "<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" fill=\"{color}\"/>"
        ));
    }
    for run in text_runs(canvas, y, strokes) {
        let (x, y) = (at(run.column), Tenths(top + BASE_LINE));
        let (length, ink, text) = (
            Tenths(run.cells * CELL_WIDTH),
            attributes(run.ink),
            escaped(&run.text),
        );
        svg.add(format_args!(
            "<text x=\"{x}\" y=\"{y}\" textLength=\"{length}\" lengthAdjust=\"spacingAndGlyphs\"{ink}>{text}</text>"
        ));
    }
    for (from, to, color) in stretches(canvas, y, |ink| ink.underline.then(|| ink.text_color())) {
        let (from, y, to) = (at(from), Tenths(top + UNDERLINE), at(to));
        svg.add(format_args!(
            "<path stroke=\"{color}\" d=\"M{from} {y}H{to}\"/>"
        ));
    }
}

fn attributes(ink: Ink) -> String {
    let color = ink.text_color();
    let fill = if color == TEXT {
        String::new()
    } else {
        format!(" fill=\"{color}\"")
    };
    let dim = if ink.dim { " fill-opacity=\".6\"" } else { "" };
    let bold = if ink.bold {
        " font-weight=\"bold\""
    } else {
        ""
    };
    let italic = if ink.italic {
        " font-style=\"italic\""
    } else {
        ""
    };
    fill + dim + bold + italic
}

/// Stretches of adjacent cells for which `of` gives the same colour.
fn stretches(
    canvas: &Canvas,
    y: usize,
    of: impl Fn(Ink) -> Option<String>,
) -> Vec<(usize, usize, String)> {
    let mut found: Vec<(usize, usize, String)> = Vec::new();
    for x in 0..canvas.columns {
        let Spot::Cell(cell) = canvas.spot(x, y) else {
            continue;
        };
        let Some(color) = of(cell.ink) else {
            continue;
        };
        match found.last_mut() {
            Some((_, end, last)) if *end == x && *last == color => *end = x + 1,
            _ => found.push((x, x + 1, color)),
        }
    }
    found
}

fn text_runs(canvas: &Canvas, y: usize, strokes: &mut Strokes) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    for x in 0..canvas.columns {
        match canvas.spot(x, y) {
            Spot::Border(arms, color) => {
                let color = color.map_or_else(|| FAINT.to_owned(), |color| hex(hue(color)));
                strokes.add((x, y), *arms, &Pen { color, dim: false });
            }
            Spot::Cell(cell) => {
                if let Some(arms) = Arms::of(&cell.text) {
                    let pen = Pen {
                        color: cell.ink.text_color(),
                        dim: cell.ink.dim,
                    };
                    strokes.add((x, y), arms, &pen);
                } else if !cell.text.is_empty() {
                    add(&mut runs, x, cell);
                }
            }
        }
    }
    runs
}

fn add(runs: &mut Vec<Run>, x: usize, cell: &Cell) {
    let usual = |text: &str| text.chars().all(|c| c < UNUSUAL);
    if let Some(last) = runs.last_mut()
        && last.column + last.cells == x
        && last.ink == cell.ink
        && usual(&cell.text)
        && usual(&last.text)
    {
        last.text += &cell.text;
        last.cells += 1;
        return;
    }
    runs.push(Run {
        column: x,
        cells: cell.columns(),
        text: cell.text.clone(),
        ink: cell.ink,
    });
}
