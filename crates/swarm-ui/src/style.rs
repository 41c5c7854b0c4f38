//! swarm's own escape sequences, the only ones in the output.

use swarm_protocol::Color;

use crate::Theme;

/// Meaning of a piece of text, which determines its style.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Style {
    /// De-emphasized.
    Dim,
    /// Emphasized.
    Bold,
    /// A name, in the colour of its agent.
    Name(Option<Color>),
    /// A name on a background in the colour of its agent.
    Badge(Option<Color>),
    /// In a colour.
    Tint(Color),
    /// Success.
    Good,
    /// Failure.
    Bad,
    /// Slow or unusual.
    Warn,
    /// Requires attention.
    Attention,
    /// A keyword of source code.
    Keyword,
    /// A literal of source code.
    Literal,
}

impl Style {
    /// Returns the parameters of the SGR sequence. Of the palette, which terminals adapt to their
    /// background, blue is used for names only: in many palettes it is too dark for black.
    pub(crate) fn sgr(self) -> String {
        match self {
            Style::Dim => "2".to_owned(),
            Style::Bold | Style::Name(None) => "1".to_owned(),
            Style::Name(Some(color)) => format!("1;{}", color.sgr()),
            Style::Badge(None) => "1;7".to_owned(),
            Style::Badge(Some(color)) => format!("1;7;{}", color.sgr()),
            Style::Tint(color) => color.sgr().to_owned(),
            Style::Good => "32".to_owned(),
            Style::Bad => "31".to_owned(),
            Style::Warn => "33".to_owned(),
            // In a difference, red and green have a meaning.
            Style::Keyword => "35".to_owned(),
            Style::Literal => "36".to_owned(),
            // Foreground and background are both set, so that it is readable on light and dark
            // backgrounds.
            Style::Attention => "1;38;5;16;48;5;220".to_owned(),
        }
    }
}

/// Returns the text in a style; unchanged if colours are disabled.
pub(crate) fn paint(theme: Theme, style: Style, text: &str) -> String {
    if theme.color && !text.is_empty() {
        format!("\u{1b}[{}m{text}\u{1b}[0m", style.sgr())
    } else {
        text.to_owned()
    }
}

/// Returns a sign in an agent's colour.
pub(crate) fn tinted(theme: Theme, color: Option<Color>, sign: &str) -> String {
    paint(theme, color.map_or(Style::Bold, Style::Tint), sign)
}
