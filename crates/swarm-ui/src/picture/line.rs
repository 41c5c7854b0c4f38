//! Box-drawing characters.

/// Directions in which a line extends from the centre of its cell.
#[expect(clippy::struct_excessive_bools, reason = "every combination exists")]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Arms {
    pub(super) up: bool,
    pub(super) down: bool,
    pub(super) left: bool,
    pub(super) right: bool,
}

/// Light lines by their arms: up, down, left, right as bits from the lowest.
const LIGHT: [char; 16] = [
    ' ', '│', '│', '│', '─', '┘', '┐', '┤', '─', '└', '┌', '├', '─', '┴', '┬', '┼',
];

impl Arms {
    fn bits(self) -> usize {
        usize::from(self.up)
            | usize::from(self.down) << 1
            | usize::from(self.left) << 2
            | usize::from(self.right) << 3
    }

    /// Returns the character with these arms.
    pub(super) fn character(self, unicode: bool) -> char {
        let bits = self.bits();
        match bits {
            _ if unicode => LIGHT[bits],
            0 => ' ',
            1..=3 => '|',
            4 | 8 | 12 => '-',
            _ => '+',
        }
    }
}
