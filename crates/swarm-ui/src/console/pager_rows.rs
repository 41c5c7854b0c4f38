//! The rows of a document near the screen.

use std::collections::BTreeMap;

use super::document::Document;
use super::full_screen::Area;
use super::styled::split;

/// Most blocks whose rows are kept.
const KEPT_BLOCKS: usize = 64;

/// A row of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(super) struct Position {
    pub(super) block: usize,
    pub(super) row: usize,
}

/// A document and the rendered rows of some of its blocks.
pub(super) struct PagerRows {
    document: Box<dyn Document>,
    width: usize,
    blocks: BTreeMap<usize, Vec<String>>,
    /// The lowest position of the screen, for an area.
    lowest: Option<(Area, Position)>,
}

impl PagerRows {
    pub(super) fn new(document: Box<dyn Document>) -> Self {
        Self {
            document,
            width: 0,
            blocks: BTreeMap::new(),
            lowest: None,
        }
    }

    /// Returns the number of blocks.
    pub(super) fn count(&self) -> usize {
        self.document.blocks()
    }

    /// Returns the rows of a block, rendered for this call only.
    pub(super) fn rendered(&self, block: usize, area: Area) -> Vec<String> {
        let rows = self.document.rows(block, area.theme()).into_iter();
        rows.flat_map(|row| split(row, area.columns)).collect()
    }

    pub(super) fn block(&mut self, block: usize, area: Area) -> &[String] {
        if self.width != area.columns {
            self.width = area.columns;
            self.blocks.clear();
        }
        if !self.blocks.contains_key(&block) {
            let rows = self.rendered(block, area);
            self.blocks.insert(block, rows);
            self.forget_far_from(block);
        }
        &self.blocks[&block]
    }

    /// Forgets the block that is furthest from the one that was shown last.
    fn forget_far_from(&mut self, block: usize) {
        let ends = [self.blocks.keys().next(), self.blocks.keys().next_back()];
        let furthest = ends
            .into_iter()
            .flatten()
            .copied()
            .max_by_key(|at| at.abs_diff(block));
        if self.blocks.len() > KEPT_BLOCKS
            && let Some(furthest) = furthest
        {
            self.blocks.remove(&furthest);
        }
    }

    /// Looks for more blocks. Returns whether the document changed.
    pub(super) fn refresh(&mut self) -> bool {
        let is_changed = self.document.refresh();
        if is_changed {
            self.blocks.clear();
            self.lowest = None;
        }
        is_changed
    }

    /// Returns the position `count` rows below; the last row if there are fewer.
    pub(super) fn below(&mut self, from: Position, count: usize, area: Area) -> Position {
        let (mut at, mut left) = (from, count);
        loop {
            let length = self.block(at.block, area).len();
            if at.row + left < length {
                return Position {
                    row: at.row + left,
                    ..at
                };
            }
            let Some(block) = self.next(at.block, area) else {
                return Position {
                    row: length.saturating_sub(1),
                    ..at
                };
            };
            left = (at.row + left).saturating_sub(length);
            at = Position { block, row: 0 };
        }
    }

    /// Returns the position `count` rows above; the first row if there are fewer.
    pub(super) fn above(&mut self, from: Position, count: usize, area: Area) -> Position {
        let (mut at, mut left) = (from, count);
        while left > at.row {
            let Some(block) = self.previous(at.block, area) else {
                return Position { row: 0, ..at };
            };
            left -= at.row + 1;
            let row = self.block(block, area).len().saturating_sub(1);
            at = Position { block, row };
        }
        Position {
            row: at.row - left,
            ..at
        }
    }

    /// Returns the first row of a screen that shows the end.
    pub(super) fn lowest(&mut self, area: Area) -> Position {
        if let Some((_, lowest)) = self.lowest.filter(|(of, _)| *of == area) {
            return lowest;
        }
        let last = self.last(area);
        let lowest = self.above(last, area.rows.saturating_sub(1), area);
        self.lowest = Some((area, lowest));
        lowest
    }

    fn last(&mut self, area: Area) -> Position {
        let end = self.count();
        let block = self.previous(end, area).unwrap_or_default();
        let row = self.block(block, area).len().saturating_sub(1);
        Position { block, row }
    }

    /// Returns up to `count` rows from a position on, and the last one's position.
    pub(super) fn from(
        &mut self,
        at: Position,
        count: usize,
        area: Area,
    ) -> (Vec<String>, Position) {
        let (mut rows, mut last) = (Vec::new(), at);
        let mut block = Some(at.block);
        while let Some(number) = block.filter(|_| rows.len() < count) {
            let skipped = if number == at.block { at.row } else { 0 };
            let room = count - rows.len();
            let of_block = self.block(number, area);
            let taken = of_block.iter().skip(skipped).take(room);
            let before = rows.len();
            rows.extend(taken.cloned());
            if rows.len() > before {
                last = Position {
                    block: number,
                    row: skipped + rows.len() - before - 1,
                };
            }
            block = self.next(number, area);
        }
        (rows, last)
    }

    fn next(&mut self, block: usize, area: Area) -> Option<usize> {
        (block + 1..self.count()).find(|next| !self.block(*next, area).is_empty())
    }

    fn previous(&mut self, block: usize, area: Area) -> Option<usize> {
        (0..block)
            .rev()
            .find(|previous| !self.block(*previous, area).is_empty())
    }
}
