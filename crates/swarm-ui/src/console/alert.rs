//! Calls for the attention of a person who may be looking elsewhere.

use crate::sanitize::clean_line;
use crate::width::fit;

/// Rings the terminal's bell.
pub(super) const BELL: char = '\u{7}';

/// Columns of a notification.
const LONGEST: usize = 100;

/// How a person is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Alert {
    /// Rings the terminal's bell; tmux marks the window by it.
    pub bell: bool,
    /// Has the terminal show a notification of the desktop (OSC 9), where it can.
    pub osc: bool,
    /// Whether the terminal is a pane of tmux, which passes such a sequence on only in an envelope.
    pub in_tmux: bool,
}

impl Default for Alert {
    fn default() -> Self {
        Self {
            bell: true,
            osc: false,
            in_tmux: false,
        }
    }
}

impl Alert {
    /// What calls, with the reason in a few words. It leaves the text on the screen as it is.
    pub fn sequence(self, why: &str) -> String {
        let mut sequence = String::new();
        if self.osc {
            let why = fit(&clean_line(why), LONGEST, "…");
            sequence = if self.in_tmux {
                format!("\u{1b}Ptmux;\u{1b}\u{1b}]9;{why}\u{7}\u{1b}\\")
            } else {
                format!("\u{1b}]9;{why}\u{7}")
            };
        }
        if self.bell {
            sequence.push(BELL);
        }
        sequence
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_what_the_settings_and_the_place_allow() {
        let all = Alert {
            bell: true,
            osc: true,
            in_tmux: false,
        };
        let why = "bob\u{1b} asks";
        assert_eq!(all.sequence(why), "\u{1b}]9;bob␛ asks\u{7}\u{7}");
        let in_tmux = Alert {
            in_tmux: true,
            bell: false,
            ..all
        };
        assert_eq!(
            in_tmux.sequence(why),
            "\u{1b}Ptmux;\u{1b}\u{1b}]9;bob␛ asks\u{7}\u{1b}\\"
        );
        let none = Alert {
            bell: false,
            osc: false,
            in_tmux: true,
        };
        assert_eq!(none.sequence(why), "");
    }
}
