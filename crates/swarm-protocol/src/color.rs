//! The eight colours of agents, in Claude Code's order.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// An agent's colour. The lead has red; teammates take the others in order, then all again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Color {
    /// The lead's.
    Red,
    /// First teammate.
    Blue,
    /// Second.
    Green,
    /// Third.
    Yellow,
    /// Fourth; tmux calls it magenta.
    Purple,
    /// Fifth; tmux colour208.
    Orange,
    /// Sixth; tmux colour205.
    Pink,
    /// Seventh.
    Cyan,
}

impl Color {
    /// Every colour in the order in which they are given out.
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

    /// The colour of the `index`-th agent of a team, the lead being 0.
    pub fn nth(index: usize) -> Self {
        Self::ALL[index % Self::ALL.len()]
    }

    /// The name on disk.
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

    /// The name that tmux styles use.
    pub fn tmux(self) -> &'static str {
        match self {
            Color::Purple => "magenta",
            Color::Orange => "colour208",
            Color::Pink => "colour205",
            other => other.name(),
        }
    }

    /// The parameters of the SGR sequence that selects this colour as foreground.
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
