//! Where in the user's tmux teammates may appear.

use std::str::FromStr;

/// The setting `tmux.place`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Place {
    /// Beside the lead where its window holds only the lead and teammates, else in further windows.
    #[default]
    Auto,
    /// Beside the lead even where the window also holds panes of others. Theirs keep their place and size as far as
    /// a split allows; nothing is arranged anew.
    Split,
    /// Always in further windows.
    Window,
    /// Out of sight, on swarm's own server, as if outside tmux.
    Hidden,
}

impl FromStr for Place {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        match word {
            "auto" => Ok(Place::Auto),
            "split" => Ok(Place::Split),
            "window" => Ok(Place::Window),
            "hidden" => Ok(Place::Hidden),
            other => Err(format!(
                "`{}` is not a place for panes: use auto, split, window or hidden",
                other.escape_debug()
            )),
        }
    }
}
