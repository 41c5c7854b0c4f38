//! A Markdown table, drawn when it is complete.

use crate::pane::inline::{Span, spans};
use crate::pane::text_wrap::TextWrap;
use crate::width::columns;

const HEADER: &str = "1";
const DIM: &str = "2";

/// The rows of an unfinished table.
#[derive(Debug, Default)]
pub(super) struct Grid {
    rows: Vec<String>,
}

struct Cell {
    parts: Vec<Span>,
    width: usize,
}

impl Grid {
    /// Adds a row in its source form.
    pub(super) fn add(&mut self, row: &str) {
        self.rows.push(row.to_owned());
    }

    /// Draws the table if there is one. Rows that are not a valid table, or do not fit, are drawn
    /// in their source form.
    pub(super) fn draw(&mut self, flow: &mut TextWrap) {
        let rows = std::mem::take(&mut self.rows);
        let Some(right) = rows.get(1).and_then(|row| alignment(row)) else {
            return as_written(&rows, flow);
        };
        let table: Vec<Vec<Cell>> = rows
            .iter()
            .enumerate()
            .filter(|(at, _)| *at != 1)
            .map(|(at, row)| cells(row, if at == 0 { HEADER } else { "" }))
            .collect();
        let mut widths = vec![0; right.len()];
        for row in &table {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = cell.width.max(*width);
            }
        }
        let total = widths.iter().sum::<usize>() + 3 * widths.len().saturating_sub(1);
        let is_regular = table.iter().all(|row| row.len() <= widths.len());
        if !is_regular || total > flow.room() {
            return as_written(&rows, flow);
        }
        for (at, row) in table.iter().enumerate() {
            draw_row(row, &widths, &right, flow);
            if at == 0 {
                let parts: Vec<String> = widths.iter().map(|width| "─".repeat(*width)).collect();
                flow.push_styled(&parts.join("─┼─"), DIM);
                flow.push("\n");
            }
        }
    }
}

fn draw_row(row: &[Cell], widths: &[usize], right: &[bool], flow: &mut TextWrap) {
    for (at, width) in widths.iter().enumerate() {
        if at > 0 {
            flow.push(" ");
            flow.push_styled("│", DIM);
            flow.push(" ");
        }
        let cell = row.get(at);
        let gap = " ".repeat(width - cell.map_or(0, |cell| cell.width));
        let is_right = right.get(at).is_some_and(|right| *right);
        if is_right {
            flow.push(&gap);
        }
        for (text, style) in cell.iter().flat_map(|cell| &cell.parts) {
            flow.push_styled(text, style);
        }
        if !is_right {
            flow.push(&gap);
        }
    }
    flow.push("\n");
}

fn as_written(rows: &[String], flow: &mut TextWrap) {
    for row in rows {
        flow.push(row);
        flow.push("\n");
    }
}

/// Returns whether each column is right-aligned if a row is the delimiter row below the header.
fn alignment(row: &str) -> Option<Vec<bool>> {
    let cells = split(row);
    let is_mark = |cell: &String| cell.contains('-') && cell.chars().all(|c| c == '-' || c == ':');
    (!cells.is_empty() && cells.iter().all(is_mark)).then(|| {
        cells
            .iter()
            .map(|cell| cell.ends_with(':') && !cell.starts_with(':'))
            .collect()
    })
}

fn cells(row: &str, base: &str) -> Vec<Cell> {
    let cells = split(row).into_iter().map(|text| {
        let mut parts = Vec::new();
        spans(&text, None, base, true, &mut parts);
        let width = parts.iter().map(|(text, _)| columns(text)).sum();
        Cell { parts, width }
    });
    cells.collect()
}

/// Splits a row at its bars; a bar after a backslash is part of the text.
fn split(row: &str) -> Vec<String> {
    let row = row.trim();
    let row = row.strip_prefix('|').unwrap_or(row);
    let mut cells = vec![String::new()];
    let mut signs = row.chars().peekable();
    while let Some(c) = signs.next() {
        if c == '|' {
            cells.push(String::new());
            continue;
        }
        let is_escape = c == '\\' && signs.peek() == Some(&'|');
        let c = if is_escape {
            signs.next().unwrap_or(c)
        } else {
            c
        };
        if let Some(cell) = cells.last_mut() {
            cell.push(c);
        }
    }
    if cells.last().is_some_and(|cell| cell.trim().is_empty()) {
        cells.pop();
    }
    cells.iter().map(|cell| cell.trim().to_owned()).collect()
}
