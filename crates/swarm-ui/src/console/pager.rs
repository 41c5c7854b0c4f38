//! A document on the whole terminal: scrolled, and searched.

use swarm_protocol::partial_debug;

use super::document::Document;
use super::full_screen::{Area, FullScreen, LastRow, Step};
use super::input::Key;
use super::pager_rows::{PagerRows, Position};
use super::search::Search;
use super::styled::{marked, plain_text};

/// The keys, for the last row.
const KEYS: &str = "/ search  n N  g G  q close";

/// Shows a document on the whole terminal.
pub struct Pager {
    title: String,
    rows: PagerRows,
    /// The first row on the screen.
    top: Position,
    /// Whether the end is shown, also after the document grows.
    at_end: bool,
    /// The search that is being typed.
    typing: Option<String>,
    /// The last search, and where it was found.
    wanted: String,
    found: Option<Position>,
    message: Option<String>,
}

partial_debug!(Pager: title);

impl Pager {
    /// Shows a document from its start.
    pub fn new(title: impl Into<String>, document: Box<dyn Document>) -> Self {
        Self {
            title: title.into(),
            rows: PagerRows::new(document),
            top: Position::default(),
            at_end: false,
            typing: None,
            wanted: String::new(),
            found: None,
            message: None,
        }
    }

    /// Shows the document from its end, and follows its growth.
    #[must_use]
    pub fn from_end(mut self) -> Self {
        self.at_end = true;
        self
    }

    fn go_to(&mut self, at: Position, area: Area) {
        let lowest = self.rows.lowest(area);
        self.top = at.min(lowest);
        self.at_end = at >= lowest;
    }

    fn go_to_end(&mut self, area: Area) {
        self.rows.refresh();
        self.top = self.rows.lowest(area);
        self.at_end = true;
    }

    fn down(&mut self, count: usize, area: Area) {
        let at = self.rows.below(self.top, count, area);
        self.go_to(at, area);
    }

    fn up(&mut self, count: usize, area: Area) {
        let at = self.rows.above(self.top, count, area);
        self.go_to(at, area);
    }

    /// Searches for the typed text: downwards from the screen, or upwards from the end.
    fn search(&mut self, wanted: String, area: Area) {
        if !wanted.is_empty() {
            self.wanted = wanted;
            self.found = None;
        }
        self.find(!self.at_end, area);
    }

    /// Moves to the next row with the text of the last search.
    fn find(&mut self, is_forward: bool, area: Area) {
        if self.wanted.is_empty() {
            self.message = Some("nothing to search for: type / and a text".to_owned());
            return;
        }
        let search = Search::new(&self.wanted);
        let (_, bottom) = self.rows.from(self.top, area.rows, area);
        let seen = self.found.filter(|at| (self.top..=bottom).contains(at));
        let found = if is_forward {
            self.find_below(&search, seen, area)
        } else {
            self.find_above(&search, seen.unwrap_or(bottom), seen.is_none(), area)
        };
        let Some(at) = found else {
            let side = if is_forward { "below" } else { "above" };
            self.message = Some(format!("not found {side}: {}", self.wanted));
            return;
        };
        self.message = None;
        self.found = Some(at);
        if !(self.top..=bottom).contains(&at) {
            // Some rows above a match show its context.
            let top = self.rows.above(at, area.rows / 4, area);
            self.go_to(top, area);
        }
    }

    /// Returns the first row with the text after `seen`, or on the screen or below it.
    fn find_below(&self, search: &Search, seen: Option<Position>, area: Area) -> Option<Position> {
        let from = seen.unwrap_or(self.top);
        (from.block..self.rows.count()).find_map(|block| {
            let rows = self.rows_with(search, block, area);
            let mut at = rows.into_iter().map(|row| Position { block, row });
            at.find(|at| *at > from || (seen.is_none() && *at == from))
        })
    }

    /// Returns the last row with the text before `from`, or in it if `is_included`.
    fn find_above(
        &self,
        search: &Search,
        from: Position,
        is_included: bool,
        area: Area,
    ) -> Option<Position> {
        (0..=from.block).rev().find_map(|block| {
            let rows = self.rows_with(search, block, area);
            let mut at = rows.into_iter().rev().map(|row| Position { block, row });
            at.find(|at| *at < from || (is_included && *at == from))
        })
    }

    /// Returns the rows of a block that contain the text. Words may be on two rows.
    fn rows_with(&self, search: &Search, block: usize, area: Area) -> Vec<usize> {
        let rows = self.rows.rendered(block, area);
        let rows: Vec<String> = rows.iter().map(|row| plain_text(row)).collect();
        let has = |at: usize| {
            if search.is_in(&rows[at]) {
                return true;
            }
            let Some(next) = rows.get(at + 1) else {
                return false;
            };
            let both = format!("{} {}", rows[at].trim_end(), next.trim_start());
            search.is_in(&both) && !search.is_in(next)
        };
        (0..rows.len()).filter(|at| has(*at)).collect()
    }

    fn typed(&mut self, mut text: String, key: &Key, area: Area) {
        match key {
            Key::Text(more) | Key::Pasted(more) => text.push_str(more),
            Key::Backspace if text.is_empty() => return,
            Key::Backspace => drop(text.pop()),
            Key::ClearBefore => text.clear(),
            Key::Enter => return self.search(text, area),
            Key::Interrupt => return,
            _ => {}
        }
        self.typing = Some(text);
    }

    fn letter(&mut self, letter: &str, area: Area) -> Step {
        let page = area.rows.saturating_sub(1).max(1);
        match letter {
            "q" | "Q" => return Step::Close,
            "/" | "?" => self.typing = Some(String::new()),
            "n" => self.find(true, area),
            "N" => self.find(false, area),
            "g" | "<" => self.go_to(Position::default(), area),
            "G" | ">" => self.go_to_end(area),
            " " | "f" => self.down(page, area),
            "b" => self.up(page, area),
            "d" => self.down(page / 2, area),
            "u" => self.up(page / 2, area),
            "j" => self.down(1, area),
            "k" => self.up(1, area),
            _ => {}
        }
        Step::Stay
    }

    fn status(&mut self, bottom: Position, area: Area) -> String {
        if let Some(message) = &self.message {
            return message.clone();
        }
        let place = if self.at_end {
            "end".to_owned()
        } else {
            let of_block = self.rows.block(bottom.block, area).len().max(1);
            let blocks = self.rows.count().max(1);
            // Within a block, too: a document may have only one.
            let thousandths = bottom.block * 1000 + (bottom.row + 1) * 1000 / of_block;
            format!("{} %", thousandths / (blocks * 10))
        };
        format!("{} · {place}", self.title)
    }
}

impl FullScreen for Pager {
    fn draw(&mut self, area: Area) -> (Vec<String>, LastRow) {
        let lowest = self.rows.lowest(area);
        if self.at_end || self.top > lowest {
            self.top = lowest;
            self.at_end = true;
        }
        let (mut rows, bottom) = self.rows.from(self.top, area.rows, area);
        if !self.wanted.is_empty() {
            let search = Search::new(&self.wanted);
            for row in &mut rows {
                let places = search.places(&plain_text(row));
                *row = marked(row, &places);
            }
        }
        let last = match &self.typing {
            Some(text) => LastRow::Prompt(format!("/{text}")),
            None => LastRow::Status {
                left: self.status(bottom, area),
                right: KEYS.to_owned(),
            },
        };
        (rows, last)
    }

    fn key(&mut self, key: &Key, area: Area) -> Step {
        if let Some(text) = self.typing.take() {
            self.typed(text, key, area);
            return Step::Stay;
        }
        let page = area.rows.saturating_sub(1).max(1);
        self.message = None;
        match key {
            Key::Interrupt | Key::Expand => return Step::Close,
            Key::Text(letter) => return self.letter(letter, area),
            Key::Down | Key::Enter => self.down(1, area),
            Key::Up => self.up(1, area),
            Key::PageDown => self.down(page, area),
            Key::PageUp | Key::Background => self.up(page, area),
            Key::EndOfInput => self.down(page / 2, area),
            Key::ClearBefore => self.up(page / 2, area),
            Key::Home => self.go_to(Position::default(), area),
            Key::End => self.go_to_end(area),
            _ => {}
        }
        Step::Stay
    }

    fn output_arrived(&mut self, _area: Area) -> bool {
        self.at_end && self.rows.refresh()
    }
}

#[cfg(test)]
#[path = "pager_tests.rs"]
mod tests;
