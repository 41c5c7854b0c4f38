//! How many panes fit into a window before they become too small to read.
//!
//! swarm computes this because tmux does not: `main-vertical` never reports a lack of room but
//! makes the window taller than the terminal, with panes of one row. The formulas follow tmux 3.3a
//! (`layout-set.c`) and include the title row of each pane (`pane-border-status top`).

/// Size of a pane, a window or a terminal, in cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Size {
    /// Number of columns.
    pub columns: u16,
    /// Number of rows.
    pub rows: u16,
}

impl Size {
    /// Creates a size.
    pub const fn new(columns: u16, rows: u16) -> Self {
        Self { columns, rows }
    }

    /// Returns whether an area of size `other` fits into this one.
    pub fn holds(self, other: Size) -> bool {
        self.columns >= other.columns && self.rows >= other.rows
    }

    /// Returns the larger value of both in each dimension.
    #[must_use]
    pub fn union(self, other: Size) -> Size {
        Size::new(self.columns.max(other.columns), self.rows.max(other.rows))
    }
}

/// Smallest readable size of a teammate's pane.
pub(crate) const MINIMUM_PANE: Size = Size::new(60, 8);

/// Share of the window width for the lead, in percent.
const LEAD_PERCENT: u16 = 30;

/// Minimum number of columns for the lead; a window without room for it is not split.
const LEAD_MINIMUM_COLUMNS: u16 = 60;

/// Arrangement of a window that contains only teammates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Arrangement {
    /// A grid with about as many rows as columns.
    Tiled,
    /// One above the other, for a window too narrow for two columns.
    Stacked,
}

impl Arrangement {
    /// Returns tmux's name of the layout.
    pub(crate) fn layout_name(self) -> &'static str {
        match self {
            Arrangement::Tiled => "tiled",
            Arrangement::Stacked => "even-vertical",
        }
    }

    /// Returns the smallest window in which each of `panes` has at least [`MINIMUM_PANE`].
    pub(crate) fn needs(self, panes: usize) -> Size {
        match self {
            Arrangement::Tiled => {
                let (columns, rows) = tiled_grid(panes);
                Size::new(
                    narrowed(columns * usize::from(MINIMUM_PANE.columns + 1) - 1),
                    narrowed(rows * usize::from(MINIMUM_PANE.rows + 2) - 1),
                )
            }
            Arrangement::Stacked => Size::new(MINIMUM_PANE.columns, stack_rows(panes)),
        }
    }

    /// Returns the arrangement in which `panes` fit into a window, if any; a grid if possible.
    pub(crate) fn that_fits(window: Size, panes: usize) -> Option<Arrangement> {
        [Arrangement::Tiled, Arrangement::Stacked]
            .into_iter()
            .find(|arrangement| window.holds(arrangement.needs(panes)))
    }
}

/// Returns the rows and columns of tmux's `tiled` layout: it adds a row, then a column, in turn.
fn tiled_grid(panes: usize) -> (usize, usize) {
    let (mut columns, mut rows) = (1, 1);
    while columns * rows < panes {
        rows += 1;
        if columns * rows < panes {
            columns += 1;
        }
    }
    (columns, rows)
}

/// Returns the rows that a stack of panes needs, including titles.
fn stack_rows(panes: usize) -> u16 {
    narrowed(panes.max(1) * usize::from(MINIMUM_PANE.rows + 1))
}

/// Returns the columns for the lead in its window.
pub(crate) fn lead_columns(window: Size) -> u16 {
    let share = usize::from(window.columns) * usize::from(LEAD_PERCENT) / 100;
    narrowed(share).max(LEAD_MINIMUM_COLUMNS)
}

/// Returns in how many columns `teammates` next to the lead each have at least [`MINIMUM_PANE`]: in
/// one if a stack fits, otherwise in as many as a grid needs.
pub(crate) fn columns_beside_lead(window: Size, teammates: usize) -> Option<usize> {
    let room = window.columns.saturating_sub(lead_columns(window));
    let most = usize::from(room / (MINIMUM_PANE.columns + 1));
    (1..=most).find(|columns| window.rows >= stack_rows(teammates.div_ceil(*columns)))
}

/// Returns whether there is room for `teammates` next to the lead.
pub(crate) fn fits_beside_lead(window: Size, teammates: usize) -> bool {
    columns_beside_lead(window, teammates).is_some()
}

/// Returns the number of rows of each pane of a stack except the last, so that no two differ by
/// more than one. tmux assigns the remainder of its division to the last pane only. Each title
/// occupies a row.
pub(crate) fn even_rows(window: Size, panes: usize) -> Vec<u16> {
    let rows = usize::from(window.rows).saturating_sub(panes);
    let (each, over) = (rows / panes.max(1), rows % panes.max(1));
    let last = panes.saturating_sub(1);
    (0..last)
        .map(|at| narrowed(each + usize::from(at < over)))
        .collect()
}

/// A size that exceeds the range of tmux does not fit into any window.
fn narrowed(cells: usize) -> u16 {
    u16::try_from(cells).unwrap_or(u16::MAX)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn capacity(fits: impl Fn(usize) -> bool) -> usize {
        (1..200)
            .take_while(|panes| fits(*panes))
            .last()
            .unwrap_or(0)
    }

    #[test]
    fn a_window_of_200_by_50_holds_ten_panes_next_to_the_lead_or_twelve_alone() {
        let window = Size::new(200, 50);
        assert_eq!(capacity(|n| columns_beside_lead(window, n) == Some(1)), 5);
        assert_eq!(capacity(|n| fits_beside_lead(window, n)), 10);
        assert_eq!(
            capacity(|n| Arrangement::that_fits(window, n).is_some()),
            12
        );
    }

    #[test]
    fn a_stack_is_divided_evenly() {
        assert_eq!(even_rows(Size::new(200, 49), 5), [9, 9, 9, 9]);
        assert!(even_rows(Size::new(200, 50), 1).is_empty());
        assert!(even_rows(Size::new(200, 50), 0).is_empty());
    }

    #[test]
    fn a_narrow_window_is_stacked_and_a_small_one_holds_no_pane() {
        assert_eq!(
            Arrangement::that_fits(Size::new(100, 40), 3),
            Some(Arrangement::Stacked)
        );
        assert_eq!(Arrangement::that_fits(Size::new(59, 100), 1), None);
        assert_eq!(Arrangement::that_fits(Size::new(100, 8), 1), None);
        assert!(!fits_beside_lead(Size::new(120, 24), 1));
        assert!(fits_beside_lead(Size::new(121, 24), 2));
        assert_eq!(lead_columns(Size::new(121, 24)), 60);
    }

    proptest! {
        /// Compares tmux's division with the computed size.
        #[test]
        fn no_pane_is_smaller_than_the_minimum(columns in 1u16..500, rows in 1u16..200, panes in 1usize..40) {
            let window = Size::new(columns, rows);
            match Arrangement::that_fits(window, panes) {
                Some(Arrangement::Tiled) => {
                    let (across, down) = tiled_grid(panes);
                    prop_assert!((usize::from(columns) - (across - 1)) / across >= 60);
                    prop_assert!((usize::from(rows) - (down - 1)) / down > 8);
                }
                Some(Arrangement::Stacked) => {
                    prop_assert!(columns >= 60 && (usize::from(rows) - panes) / panes >= 8);
                }
                None => prop_assert!(columns < 60 || usize::from(rows) < 9 * panes),
            }
            if let Some(across) = columns_beside_lead(window, panes) {
                let right = usize::from(columns - lead_columns(window) - 1);
                let down = panes.div_ceil(across);
                prop_assert!((right - (across - 1)) / across >= 60);
                prop_assert!((usize::from(rows) - down) / down >= 8);
            }
        }
    }
}
