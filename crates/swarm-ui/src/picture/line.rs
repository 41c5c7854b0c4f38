//! The lines of boxes.

/// In which directions a line leaves the middle of its cell.
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

/// The same in heavy lines, which are drawn as light ones.
const HEAVY: [char; 16] = [
    ' ', '┃', '┃', '┃', '━', '┛', '┓', '┫', '━', '┗', '┏', '┣', '━', '┻', '┳', '╋',
];

/// Round corners, drawn as square ones.
const ROUND: [(char, usize); 4] = [('╯', 5), ('╮', 6), ('╰', 9), ('╭', 10)];

impl Arms {
    fn bits(self) -> usize {
        usize::from(self.up)
            | usize::from(self.down) << 1
            | usize::from(self.left) << 2
            | usize::from(self.right) << 3
    }

    /// A line that ends in the middle of a cell goes on to its other side: it meets the edge of the window there.
    pub(super) fn straightened(self) -> Self {
        match self.bits() {
            1 | 2 => Self {
                up: true,
                down: true,
                ..self
            },
            4 | 8 => Self {
                left: true,
                right: true,
                ..self
            },
            _ => self,
        }
    }

    /// The character with these arms.
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

    /// The arms of a character that is such a line.
    pub(super) fn of(text: &str) -> Option<Self> {
        let mut chars = text.chars();
        let c = chars.next().filter(|c| ('─'..='╿').contains(c))?;
        if chars.next().is_some() {
            return None;
        }
        let round = ROUND
            .iter()
            .find(|(round, _)| *round == c)
            .map(|(_, bits)| *bits);
        // The last of equal characters is the one with all arms.
        let place = |table: &[char; 16]| table.iter().rposition(|line| *line == c);
        let bits = round.or_else(|| place(&LIGHT)).or_else(|| place(&HEAVY))?;
        Some(Self {
            up: bits & 1 != 0,
            down: bits & 2 != 0,
            left: bits & 4 != 0,
            right: bits & 8 != 0,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_and_its_arms_are_the_same_thing() {
        for c in "─│┌┐└┘├┤┬┴┼".chars() {
            assert_eq!(
                Arms::of(&c.to_string()).map(|arms| arms.character(true)),
                Some(c)
            );
        }
        assert_eq!(Arms::of("╭").map(|arms| arms.character(true)), Some('┌'));
        assert_eq!(Arms::of("━").map(|arms| arms.character(true)), Some('─'));
        assert_eq!(Arms::of("┼").map(|arms| arms.character(false)), Some('+'));
        for other in ["x", " ", "", "═", "──"] {
            assert_eq!(Arms::of(other), None, "{other}");
        }
    }
}
