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
    /// Whether the terminal supports Unicode. This affects swarm's own signs only, not the text of
    /// agents.
    pub unicode: bool,
}

impl Theme {
    /// No colours and no width: for pipes and files.
    pub const PLAIN: Theme = Theme {
        color: false,
        width: None,
        unicode: true,
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

    /// Returns the signs to draw with.
    pub(crate) fn signs(self) -> &'static Signs {
        if self.unicode { &UNICODE } else { &ASCII }
    }
}

/// Signs at the start of lines and between their parts.
#[derive(Debug)]
pub(crate) struct Signs {
    pub(crate) call: &'static str,
    pub(crate) outcome: &'static str,
    pub(crate) mail_in: &'static str,
    pub(crate) mail_out: &'static str,
    pub(crate) notice: &'static str,
    pub(crate) retry: &'static str,
    pub(crate) waiting: &'static str,
    pub(crate) failed: &'static str,
    pub(crate) done: &'static str,
    pub(crate) thinking: &'static str,
    pub(crate) idle: &'static str,
    pub(crate) state: &'static str,
    pub(crate) dot: &'static str,
    pub(crate) branch: Branch,
    pub(crate) rule: &'static str,
    pub(crate) ellipsis: &'static str,
}

/// Signs at the edge of a sub-agent's lines.
#[derive(Debug)]
pub(crate) struct Branch {
    pub(crate) begin: &'static str,
    pub(crate) side: &'static str,
    pub(crate) end: &'static str,
}

const UNICODE: Signs = Signs {
    call: "●",
    outcome: "└",
    mail_in: "◀",
    mail_out: "▶",
    notice: "·",
    retry: "↻",
    waiting: "▲",
    failed: "✗",
    done: "✓",
    thinking: "∴",
    idle: "○",
    state: "■",
    dot: "·",
    branch: Branch {
        begin: "┌─",
        side: "│ ",
        end: "└─",
    },
    rule: "─",
    ellipsis: "…",
};

const ASCII: Signs = Signs {
    call: "*",
    outcome: "->",
    mail_in: "<",
    mail_out: ">",
    notice: "-",
    retry: "~",
    waiting: "!",
    failed: "x",
    done: "+",
    thinking: "~",
    idle: "o",
    state: "#",
    dot: "-",
    branch: Branch {
        begin: "+-",
        side: "| ",
        end: "`-",
    },
    rule: "-",
    ellipsis: "...",
};
