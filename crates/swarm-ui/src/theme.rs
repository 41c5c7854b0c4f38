//! What the caller found out about the place that is drawn into.

/// Tells how many columns the place has at present, and `None` while that is not known. It is asked before every event
/// that is drawn, so it must be cheap.
pub type WidthSource = Box<dyn Fn() -> Option<usize> + Send>;

/// How to draw. Whoever knows the terminal fills it in; nothing here looks at the environment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Theme {
    /// Whether colours and other attributes may be used. Without them the output holds no escape sequence.
    pub color: bool,
    /// Columns to draw for; `None` leaves breaking of long lines to the terminal. What is drawn over time, as a pane
    /// is, may have a [`WidthSource`] instead.
    pub width: Option<usize>,
    /// Whether the terminal shows more than ASCII. Only swarm's own signs follow it, not the text of agents.
    pub unicode: bool,
}

impl Theme {
    /// Neither colours nor a width: for pipes and files.
    pub const PLAIN: Theme = Theme {
        color: false,
        width: None,
        unicode: true,
    };

    /// Columns that are left when `taken` are used.
    pub(crate) fn room(self, taken: usize) -> usize {
        self.width
            .map_or(usize::MAX, |width| width.saturating_sub(taken))
    }

    /// The signs to draw with.
    pub(crate) fn signs(self) -> &'static Signs {
        if self.unicode { &UNICODE } else { &ASCII }
    }
}

/// The signs that begin or join lines.
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
    pub(crate) thinking: &'static str,
    pub(crate) idle: &'static str,
    pub(crate) state: &'static str,
    pub(crate) dot: &'static str,
    pub(crate) branch: Branch,
    pub(crate) rule: &'static str,
    pub(crate) ellipsis: &'static str,
}

/// The edge of a sub-agent's lines.
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
