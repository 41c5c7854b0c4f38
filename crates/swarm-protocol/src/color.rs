//! The eight colours of agents, in Claude Code's order.

use std::str::FromStr;

use crate::named_enum;

named_enum! {
    /// An agent's colour. The lead is red; teammates take the other colours in order, then start over.
    pub enum Color {
        /// Reserved for the lead.
        Red = "red",
        /// First teammate.
        Blue = "blue",
        /// Second teammate.
        Green = "green",
        /// Third teammate.
        Yellow = "yellow",
        /// Fourth teammate; `magenta` in tmux.
        Purple = "purple",
        /// Fifth teammate; `colour208` in tmux.
        Orange = "orange",
        /// Sixth teammate; `colour205` in tmux.
        Pink = "pink",
        /// Seventh teammate.
        Cyan = "cyan",
    }
}

impl Color {
    /// Returns the colour of the `index`-th agent of a team; the lead is 0.
    pub fn nth(index: usize) -> Self {
        Self::ALL[index % Self::ALL.len()]
    }

    /// Returns the name used in tmux styles.
    pub fn tmux(self) -> &'static str {
        match self {
            Color::Purple => "magenta",
            Color::Orange => "colour208",
            Color::Pink => "colour205",
            other => other.name(),
        }
    }

    /// Returns the parameters of the SGR sequence that selects this foreground colour.
    pub fn sgr(self) -> &'static str {
        match self {
            Color::Red => "31",
            Color::Blue => "34",
            Color::Green => "32",
            Color::Yellow => "33",
            Color::Purple => "35",
            Color::Orange => "38;5;208",
            Color::Pink => "38;5;205",
            Color::Cyan => "36",
        }
    }
}

impl FromStr for Color {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        Self::named(text).ok_or_else(|| format!("`{}` is not an agent colour", text.escape_debug()))
    }
}
