//! Where teammates may appear in the user's tmux.

use std::str::FromStr;

/// The setting `tmux.place`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PanePlacement {
    /// Next to the lead if its window contains only the lead and teammates, otherwise in further
    /// windows.
    #[default]
    Auto,
    /// Next to the lead even if the window contains other panes. Those keep their position and size
    /// as far as a split allows; the window is not rearranged.
    Split,
    /// Always in further windows.
    Window,
    /// Hidden on swarm's own server, as outside tmux.
    Hidden,
}

impl FromStr for PanePlacement {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        match word {
            "auto" => Ok(PanePlacement::Auto),
            "split" => Ok(PanePlacement::Split),
            "window" => Ok(PanePlacement::Window),
            "hidden" => Ok(PanePlacement::Hidden),
            other => Err(format!(
                "`{}` is not a pane placement: use auto, split, window or hidden",
                other.escape_debug()
            )),
        }
    }
}
