//! Lines of boxes as strokes: pieces that touch are joined.

use std::collections::BTreeMap;

use crate::picture::line::Arms;
use crate::picture::svg::markup::{Markup, Tenths};

/// What a stroke looks like.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Pen {
    pub(super) color: String,
    pub(super) dim: bool,
}

/// Pieces of one line, from and to in half cells, in ascending order.
type Pieces = Vec<(usize, usize)>;

/// Strokes in half cells, gathered by look and line.
#[derive(Debug, Default)]
pub(super) struct Strokes {
    across: BTreeMap<Pen, BTreeMap<usize, Pieces>>,
    down: BTreeMap<Pen, BTreeMap<usize, Pieces>>,
}

impl Strokes {
    /// Adds the arms of the cell at `x`, `y`. Cells are to be added row by row, from the left.
    pub(super) fn add(&mut self, (x, y): (usize, usize), arms: Arms, pen: &Pen) {
        let reach = |before: bool, after: bool, at: usize| {
            let start = 2 * at + usize::from(!before);
            (start, 2 * at + 1 + usize::from(after))
        };
        if arms.left || arms.right {
            let line = self
                .across
                .entry(pen.clone())
                .or_default()
                .entry(y)
                .or_default();
            join(line, reach(arms.left, arms.right, x));
        }
        if arms.up || arms.down {
            let line = self
                .down
                .entry(pen.clone())
                .or_default()
                .entry(x)
                .or_default();
            join(line, reach(arms.up, arms.down, y));
        }
    }

    /// Adds the strokes as paths, for cells of the given size from the given origin, in tenths of a pixel.
    pub(super) fn draw(&self, origin: (usize, usize), size: (usize, usize), svg: &mut Markup) {
        let x = |halves: usize| Tenths(origin.0 + halves * size.0 / 2);
        let y = |halves: usize| Tenths(origin.1 + halves * size.1 / 2);
        svg.add(format_args!("<g fill=\"none\" stroke-width=\"1.2\">"));
        for (pen, lines) in &self.across {
            let data = data(lines, |row, (from, to)| {
                format!("M{} {}H{}", x(from), y(2 * row + 1), x(to))
            });
            pen.draw(&data, svg);
        }
        for (pen, lines) in &self.down {
            let data = data(lines, |column, (from, to)| {
                format!("M{} {}V{}", x(2 * column + 1), y(from), y(to))
            });
            pen.draw(&data, svg);
        }
        svg.add(format_args!("</g>"));
    }
}

impl Pen {
    fn draw(&self, data: &str, svg: &mut Markup) {
        let opacity = if self.dim {
            " stroke-opacity=\".6\""
        } else {
            ""
        };
        svg.add(format_args!(
            "<path stroke=\"{}\"{opacity} d=\"{data}\"/>",
            self.color
        ));
    }
}

fn data(lines: &BTreeMap<usize, Pieces>, draw: impl Fn(usize, (usize, usize)) -> String) -> String {
    let pieces = lines
        .iter()
        .flat_map(|(at, pieces)| pieces.iter().map(|piece| draw(*at, *piece)));
    pieces.collect::<Vec<_>>().concat()
}

fn join(line: &mut Pieces, (from, to): (usize, usize)) {
    match line.last_mut() {
        Some((_, end)) if *end >= from => *end = to.max(*end),
        _ => line.push((from, to)),
    }
}
