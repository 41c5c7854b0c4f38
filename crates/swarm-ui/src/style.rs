//! swarm's own escape sequences: the only ones that ever reach the output.

use swarm_protocol::Color;

use crate::Theme;

/// What a piece of text is, which decides how it looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Style {
    /// Of lesser weight.
    Dim,
    /// Of greater weight.
    Bold,
    /// A name, in its bearer's colour.
    Name(Option<Color>),
    /// A name on a ground of its bearer's colour.
    Badge(Option<Color>),
    /// In a colour.
    Tint(Color),
    /// It worked.
    Good,
    /// It failed.
    Bad,
    /// It is slow or odd.
    Warn,
    /// Somebody is needed.
    Loud,
}

impl Style {
    /// The parameters of the SGR sequence.
    fn sgr(self) -> String {
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
            // Both colours are named, so that it reads the same on light and dark grounds.
            Style::Loud => "1;38;5;16;48;5;220".to_owned(),
        }
    }
}

/// The text in a style; unchanged where no colours are wanted.
pub(crate) fn paint(theme: Theme, style: Style, text: &str) -> String {
    if theme.color && !text.is_empty() {
        format!("\u{1b}[{}m{text}\u{1b}[0m", style.sgr())
    } else {
        text.to_owned()
    }
}

/// A sign in somebody's colour.
pub(crate) fn tinted(theme: Theme, color: Option<Color>, sign: &str) -> String {
    paint(theme, color.map_or(Style::Bold, Style::Tint), sign)
}
