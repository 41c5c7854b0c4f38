//! The whole picture: each window under a bar with its name.

use crate::picture::canvas::Canvas;
use crate::picture::cell::Hue;
use crate::picture::palette::{BAR, CAPTION, GROUND, TEXT, hex};
use crate::picture::svg::markup::{Markup, Tenths, escaped};
use crate::picture::svg::runs::{CELL_HEIGHT, CELL_WIDTH, row};
use crate::picture::svg::strokes::Strokes;
use crate::picture::window::Window;
use crate::sanitize::clean_line;

/// Fonts to look for; the last is what every system has.
const FONTS: &str = "ui-monospace, 'SF Mono', 'Cascadia Mono', 'JetBrains Mono', Menlo, Consolas, \
                     'DejaVu Sans Mono', 'Liberation Mono', monospace";

/// Space around the cells of a window, in tenths of a pixel as all lengths here.
const PADDING: usize = 120;

/// Height of the bar above a window.
const BAR_HEIGHT: usize = 300;

/// Height of the line below a window.
const STATUS_HEIGHT: usize = 260;

/// Space between two windows.
const GAP: usize = 160;

/// Three lights at the left of the bar.
const LIGHTS: [Hue; 3] = [Hue::Indexed(1), Hue::Indexed(3), Hue::Indexed(2)];

/// Radius of a window's corners.
const CORNER: usize = 80;

/// Windows as one SVG picture, one below the other, in the colours of the captured text on a dark ground.
pub fn svg(windows: &[Window]) -> String {
    let drawn: Vec<Drawn> = windows.iter().map(Drawn::of).collect();
    let width = Tenths(drawn.iter().map(|window| window.width).max().unwrap_or(0));
    let height: usize = drawn.iter().map(|window| window.height + GAP).sum();
    let height = Tenths(height.saturating_sub(GAP));
    let mut svg = Markup::default();
    svg.add(format_args!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\" font-family=\"{FONTS}\" font-size=\"14\" fill=\"{TEXT}\" role=\"img\">"
    ));
    let mut top = 0;
    for window in &drawn {
        window.draw(top, &mut svg);
        top += window.height + GAP;
    }
    svg.add(format_args!("</svg>"));
    svg.finish()
}

/// A window with its measures.
struct Drawn {
    canvas: Canvas,
    name: String,
    status: String,
    width: usize,
    height: usize,
    /// Height of the line below the panes, or of the round corners in its place.
    foot: usize,
}

impl Drawn {
    fn of(window: &Window) -> Self {
        let canvas = Canvas::of(window);
        let status = clean_line(&window.status);
        let foot = if status.is_empty() {
            CORNER
        } else {
            STATUS_HEIGHT
        };
        Self {
            width: canvas.columns * CELL_WIDTH + 2 * PADDING,
            height: BAR_HEIGHT + canvas.rows * CELL_HEIGHT + 2 * PADDING + foot,
            name: clean_line(&window.name),
            status,
            canvas,
            foot,
        }
    }

    fn draw(&self, top: usize, svg: &mut Markup) {
        self.draw_frame(top, svg);
        let origin = (PADDING, top + BAR_HEIGHT + PADDING);
        let mut strokes = Strokes::default();
        for y in 0..self.canvas.rows {
            row(&self.canvas, y, origin, &mut strokes, svg);
        }
        strokes.draw(origin, (CELL_WIDTH, CELL_HEIGHT), svg);
    }

    /// The window itself, the bar above its panes and the line below them.
    fn draw_frame(&self, top: usize, svg: &mut Markup) {
        let (y, width, height) = (Tenths(top), Tenths(self.width), Tenths(self.height));
        let corner = Tenths(CORNER);
        svg.add(format_args!(
            "<rect y=\"{y}\" width=\"{width}\" height=\"{height}\" rx=\"{corner}\" fill=\"{BAR}\"/>"
        ));
        let (y, height) = (
            Tenths(top + BAR_HEIGHT),
            Tenths(self.height - BAR_HEIGHT - self.foot),
        );
        svg.add(format_args!(
            "<rect y=\"{y}\" width=\"{width}\" height=\"{height}\" fill=\"{GROUND}\"/>"
        ));
        for (place, hue) in LIGHTS.into_iter().enumerate() {
            let (x, y) = (Tenths(190 + 180 * place), Tenths(top + BAR_HEIGHT / 2));
            let color = hex(hue);
            svg.add(format_args!(
                "<circle cx=\"{x}\" cy=\"{y}\" r=\"5\" fill=\"{color}\"/>"
            ));
        }
        caption(
            &self.name,
            (self.width / 2, "middle"),
            top + BAR_HEIGHT / 2,
            svg,
        );
        caption(
            &self.status,
            (PADDING, "start"),
            top + self.height - self.foot / 2,
            svg,
        );
    }
}

/// Words of the window itself, smaller than what its panes show, around the height `middle`.
fn caption(words: &str, (x, anchor): (usize, &str), middle: usize, svg: &mut Markup) {
    if !words.is_empty() {
        let (x, y, words) = (Tenths(x), Tenths(middle + 45), escaped(words));
        svg.add(format_args!(
            "<text x=\"{x}\" y=\"{y}\" text-anchor=\"{anchor}\" font-size=\"13\" fill=\"{CAPTION}\">{words}</text>"
        ));
    }
}
