//! Capabilities of the output.

/// Returns the current width in columns, or `None` if it is unknown. It is called before every
/// event that is drawn, so it must be cheap.
pub type WidthSource = Box<dyn Fn() -> Option<usize> + Send>;

/// Returns the current height in rows, or `None` if it is unknown.
pub type HeightSource = Box<dyn Fn() -> Option<usize> + Send>;

/// How to draw. The caller determines the capabilities of the terminal; this crate does not read
/// the environment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Theme {
    /// Whether colours and other attributes are enabled. Without them the output contains no escape
    /// sequences.
    pub color: bool,
    /// Width in columns; `None` leaves line wrapping to the terminal. A pane, which is drawn over
    /// time, may use a [`WidthSource`] instead.
    pub width: Option<usize>,
}

impl Theme {
    /// No colours and no width: for pipes and files.
    pub const PLAIN: Theme = Theme {
        color: false,
        width: None,
    };

    /// Returns the theme for a width in columns.
    #[must_use]
    pub const fn with_width(self, width: usize) -> Self {
        Self {
            width: Some(width),
            ..self
        }
    }

    /// Returns the remaining columns if `taken` are used.
    pub(crate) fn room(self, taken: usize) -> usize {
        self.width
            .map_or(usize::MAX, |width| width.saturating_sub(taken))
    }
}
