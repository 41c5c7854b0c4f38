//! The eight colours of agents, in Claude Code's order.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// An agent's colour. The lead is red; teammates take the other colours in order, then start over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Color {
    /// Reserved for the lead.
    Red,
    /// First teammate.
    Blue,
    /// Second teammate.
    Green,
    /// Third teammate.
    Yellow,
    /// Fourth teammate; `magenta` in tmux.
    Purple,
    /// Fifth teammate; `colour208` in tmux.
    Orange,
    /// Sixth teammate; `colour205` in tmux.
    Pink,
    /// Seventh teammate.
    Cyan,
}

impl Color {
    /// Every colour, in assignment order.
    pub const ALL: [Color; 8] = [
        Color::Red,
        Color::Blue,
        Color::Green,
        Color::Yellow,
        Color::Purple,
        Color::Orange,
        Color::Pink,
        Color::Cyan,
    ];

    /// Returns the colour of the `index`-th agent of a team; the lead is 0.
    pub fn nth(index: usize) -> Self {
        Self::ALL[index % Self::ALL.len()]
    }

    /// Returns the name used on disk.
    pub fn name(self) -> &'static str {
        match self {
            Color::Red => "red",
            Color::Blue => "blue",
            Color::Green => "green",
            Color::Yellow => "yellow",
            Color::Purple => "purple",
            Color::Orange => "orange",
            Color::Pink => "pink",
            Color::Cyan => "cyan",
        }
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

impl fmt::Display for Color {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Color {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        Self::ALL
            .into_iter()
            .find(|color| color.name() == text)
            .ok_or_else(|| format!("`{}` is not an agent colour", text.escape_debug()))
    }
}
